/** A camera's picture from its base64 rows onto a canvas. */

import type { CameraPicture } from "../scene/frames";

export function drawPicture(canvas: HTMLCanvasElement, { width, height, channels, data }: CameraPicture): void {
  const bytes = atob(data);
  if (canvas.width !== width || canvas.height !== height) (canvas.width = width), (canvas.height = height);
  const ctx = canvas.getContext("2d")!;
  const image = ctx.createImageData(width, height);
  for (let i = 0, at = 0; i < width * height; i++, at += channels) {
    const grey = channels < 3;
    image.data[4 * i] = bytes.charCodeAt(at);
    image.data[4 * i + 1] = bytes.charCodeAt(grey ? at : at + 1);
    image.data[4 * i + 2] = bytes.charCodeAt(grey ? at : at + 2);
    image.data[4 * i + 3] = 255;
  }
  ctx.putImageData(image, 0, 0);
}
