// The simulation that a Play tab has: started when the tab opens, ended when it closes.

import { api, urlOf } from "../wire/api";

export class PlayProcess {
  /** Its id; empty while there is none. */
  id = $state("");
  trouble = $state("");
  private asked = 0;

  constructor(private readonly run: string) {}

  /** Start one, in place of any before. */
  async start(checkpoint: string): Promise<void> {
    this.end();
    this.trouble = "";
    const turn = this.asked;
    try {
      const { play } = await api.play({ run: this.run, checkpoint, worlds: 1 });
      if (turn === this.asked) this.id = play;
      else void leave(play); // the tab was closed, or another one was asked for meanwhile
    } catch (error) {
      if (turn === this.asked) this.trouble = (error as Error).message;
    }
  }

  end(): void {
    this.asked++;
    if (this.id) void leave(this.id);
    this.id = "";
  }
}

/** Also while the page is being closed. */
async function leave(play: string): Promise<void> {
  await fetch(urlOf(`plays/${encodeURIComponent(play)}`), { method: "DELETE", keepalive: true }).catch(() => undefined); // the server ends it by itself then
}
