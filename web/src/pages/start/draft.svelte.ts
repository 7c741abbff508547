// A run that is about to be started: what was chosen, what was changed, what is wrong with it.

import type { Form, FormField, JobRequest } from "../../generated/messages";
import { api } from "../../wire/api";
import { flat } from "../run/config";
import { blamed, read, same, textOf } from "./fields";

/** Chosen above the form, so not repeated in it. */
const ABOVE = new Set(["seed", "sim"]);

export class Draft {
  task = $state("");
  preset = $state("default");
  sim = $state("");
  seed = $state("0");
  title = $state("");
  form = $state.raw<Form | null>(null);
  loading = $state(false);
  failed = $state("");
  /** What was typed, by the field's name; what equals the preset's value is not in here. */
  typed = $state<Record<string, string>>({});
  refused = $state.raw<{ field: string; why: string } | null>(null);
  private asking: AbortController | null = null;

  readonly fields = $derived((this.form?.groups ?? []).flatMap((group) => group.fields).filter(({ name }) => !ABOVE.has(name)));
  readonly groups = $derived(
    (this.form?.groups ?? [])
      .map((group) => ({ ...group, fields: group.fields.filter(({ name }) => !ABOVE.has(name)) }))
      .filter(({ fields }) => fields.length > 0),
  );
  readonly errors = $derived.by(() => {
    const found: Record<string, string> = {};
    for (const field of this.fields) {
      const now = field.name in this.typed ? read(field, this.typed[field.name]!) : null;
      if (now && "error" in now) found[field.name] = now.error;
    }
    if (!/^\d{1,15}$/.test(this.seed.trim())) found["seed"] = "A whole number, 0 or more.";
    if (this.refused && !(this.refused.field in found) && this.refused.field) found[this.refused.field] = this.refused.why;
    return found;
  });
  readonly changed = $derived(this.fields.filter(({ name }) => name in this.typed));

  choose(task: string): void {
    if (task === this.task) return;
    this.task = task;
    this.typed = {};
    this.form = null;
    void this.load();
  }

  set(field: FormField, text: string): void {
    this.refused = null;
    const now = read(field, text);
    if ("value" in now && same(now.value, field.default)) delete this.typed[field.name];
    else this.typed[field.name] = text;
  }

  text(field: FormField): string {
    return this.typed[field.name] ?? textOf(field.default);
  }

  /** The form of the task, preset and sim as they are now. What was changed stays changed. */
  async load(): Promise<void> {
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    this.loading = true;
    this.failed = "";
    this.refused = null;
    try {
      const form = await api.form(this.task, this.preset, this.sim, asking.signal);
      if (asking.signal.aborted) return;
      this.form = form;
      this.preset = form.preset;
      this.sim = form.sim;
      for (const field of this.fields) if (field.name in this.typed) this.set(field, this.typed[field.name]!);
    } catch (error) {
      if (!asking.signal.aborted) this.failed = (error as Error).message;
    } finally {
      if (!asking.signal.aborted) this.loading = false;
    }
  }

  /** All that another run was told. */
  async like(run: string): Promise<void> {
    const { card, row } = await api.detail(run);
    if (!card) throw new Error(`The settings of ${run} cannot be read.`);
    this.task = card.setup.source.typed || card.setup.task;
    this.preset = card.setup.preset;
    this.sim = row.sim;
    this.seed = String(card.setup.seed);
    await this.load();
    const settings = new Map(flat(card.setup.config).map(({ name, value }) => [name, value]));
    for (const field of this.fields) {
      const value = settings.get(field.name);
      if (value !== undefined && !same(value, field.default)) this.set(field, textOf(value));
    }
  }

  request(): JobRequest {
    const settings: Record<string, unknown> = {};
    for (const field of this.changed) {
      const now = read(field, this.typed[field.name]!);
      if ("value" in now) settings[field.name] = now.value;
    }
    return { task: this.task, preset: this.preset, seed: Number(this.seed), sim: this.sim, settings, title: this.title.trim() };
  }

  blame(error: string): void {
    this.refused = { field: blamed(this.fields, error), why: error };
  }
}
