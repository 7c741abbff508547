// The time, once a second, for ages and countdowns.

let now = $state(Date.now());
window.setInterval(() => (now = Date.now()), 1000);

export const clock = {
  get now(): number {
    return now;
  },
};
