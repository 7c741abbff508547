// What a person typed into a field, as a value or as a sentence that says why it is none.

import { setting, whole } from "../../format";
import type { FormField } from "../../generated/messages";

export type Typed = { value: unknown } | { error: string };

/** A field's value as text one can edit. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.join(" ");
  return typeof value === "number" && Number.isInteger(value) && Math.abs(value) >= 10_000 ? whole(value) : String(value);
}

export function read(field: FormField, text: string): Typed {
  const given = text.trim();
  if (field.kind === "integer" || field.kind === "number") return number(field, given);
  if (field.kind === "integers") return integers(field, given);
  if (field.kind === "boolean") return { value: given === "true" };
  if (field.kind === "choice" && field.choices.length > 0 && !field.choices.includes(given))
    return { error: `One of: ${field.choices.map(setting).join(", ")}.` };
  return { value: given };
}

function number(field: FormField, given: string): Typed {
  const value = Number(given.replaceAll(",", "").replaceAll("_", ""));
  if (given === "" || !Number.isFinite(value)) return { error: "A number is wanted here." };
  if (field.kind === "integer" && !Number.isInteger(value)) return { error: "A whole number is wanted here." };
  if (field.low !== null && value < field.low) return { error: `At least ${setting(field.low)}.` };
  if (field.high !== null && value > field.high) return { error: `At most ${setting(field.high)}.` };
  return { value };
}

function integers(field: FormField, given: string): Typed {
  const values = given.split(/[\s,]+/).filter(Boolean).map(Number);
  if (values.some((value) => !Number.isInteger(value))) return { error: "Whole numbers with blanks between them, such as 256 128." };
  const low = field.low;
  if (low !== null && values.some((value) => value < low)) return { error: `Each at least ${low}.` };
  return { value: values };
}

/** Whether two settings are the same, however deep. */
export const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** The field that an error of the server is about: the longest name that it says. */
export function blamed(fields: readonly FormField[], error: string): string {
  const said = fields.filter(({ name }) => error.includes(name) || error.includes(name.replaceAll("_", "-")));
  return said.sort((a, b) => b.name.length - a.name.length)[0]?.name ?? "";
}
