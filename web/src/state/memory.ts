// What the browser remembers of how a person likes the pages. Where it may not, nothing is lost but that.

export function recall<T>(key: string, otherwise: T): T {
  try {
    const text = window.localStorage.getItem(`paddock.${key}`);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function remember(key: string, value: unknown): void {
  try {
    window.localStorage.setItem(`paddock.${key}`, JSON.stringify(value));
  } catch {
    // private windows and full disks: the choice lasts as long as the page
  }
}
