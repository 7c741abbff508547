// Where we are: everything after the # in the address, so that the pages work under any path.

export interface Route {
  page: string;
  id: string;
  tab: string;
  query: URLSearchParams;
}

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page = "", id = "", tab = ""] = path.split("/").map(decodeURIComponent);
  return { page: page || "runs", id, tab, query: new URLSearchParams(query) };
}

let current = $state.raw(parse(window.location.hash));
window.addEventListener("hashchange", () => (current = parse(window.location.hash)));

export const route = {
  get here(): Route {
    return current;
  },
};

/** The address of a page, for links. */
export function at(page: string, id = "", tab = "", query: Record<string, string> = {}): string {
  const path = [page, id, tab].filter(Boolean).map(encodeURIComponent).join("/");
  const asked = new URLSearchParams(query).toString();
  return `#/${path}${asked ? `?${asked}` : ""}`;
}

export function go(hash: string): void {
  window.location.hash = hash;
}

/** Change the address without a step to go back to. */
export function replace(hash: string): void {
  window.history.replaceState(null, "", hash);
  current = parse(hash);
}
