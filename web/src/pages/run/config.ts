// Settings as rows: nested ones get dotted names.

export interface Setting {
  name: string;
  value: unknown;
}

export function flat(value: Record<string, unknown>, prefix = ""): Setting[] {
  return Object.entries(value).flatMap(([key, inner]) => {
    const name = prefix ? `${prefix}.${key}` : key;
    return inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? flat(inner as Record<string, unknown>, name)
      : [{ name, value: inner }];
  });
}
