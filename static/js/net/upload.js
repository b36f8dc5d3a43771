// A resumable upload: pieces with their offset; after a break the server is asked how far it came.
import { backoffMs } from "../state/backoff.js";
import { csrfToken, errorFrom, sendJson } from "./api.js";

const LONGEST_NAME = 200;
const PIECE_BYTES = 8 << 20;
const MOST_TRIES = 8;
// The server may still wait for a piece whose connection broke: it is locked (423), or further than we know (409).
const PASSING = new Set([409, 423]);

/** Sends a file and resolves to what the server made of it; tells `onEvent` everything on the way. */
export async function upload(file, onEvent) {
  if (!file.size) throw new Error("The file is empty: nothing was written to it, or it is not copied yet.");
  onEvent({ type: "began" });
  const { id } = await sendJson("POST", "/api/v1/uploads", { name: nameOf(file), size: file.size });
  const place = `/api/v1/uploads/${id}`;
  let offset = 0;
  let tries = 0;
  while (offset < file.size) {
    try {
      offset = await sendPiece(place, file, offset, (sent) => onEvent({ type: "progressed", sent }));
      tries = 0;
    } catch (fault) {
      if ((fault.status && !PASSING.has(fault.status)) || tries >= MOST_TRIES) throw fault;
      onEvent({ type: "interrupted" });
      await new Promise((resolve) => setTimeout(resolve, backoffMs(tries)));
      tries += 1;
      offset = await offsetAt(place, offset);
    }
  }
  onEvent({ type: "sent" });
  return sendJson("POST", `${place}/finish`);
}

async function offsetAt(place, known) {
  try {
    const response = await fetch(place, { method: "HEAD", headers: { "Tus-Resumable": "1.0.0" } });
    return response.ok ? Number(response.headers.get("Upload-Offset")) : known;
  } catch {
    return known;
  }
}

// XMLHttpRequest, because fetch does not say how much of a body has gone out.
function sendPiece(place, file, offset, onSent) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PATCH", place);
    request.setRequestHeader("Tus-Resumable", "1.0.0");
    request.setRequestHeader("Upload-Offset", offset);
    request.setRequestHeader("Content-Type", "application/offset+octet-stream");
    request.setRequestHeader("X-CSRFToken", csrfToken());
    request.upload.onprogress = (event) => onSent(offset + event.loaded);
    request.onload = () => {
      if (request.status < 300) resolve(Number(request.getResponseHeader("Upload-Offset")));
      else reject(errorFrom(parsed(request.responseText), request.status));
    };
    request.onerror = () => reject(new Error("The connection broke and did not come back. Try again."));
    request.send(file.slice(offset, offset + PIECE_BYTES));
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A job's name has up to 200 letters: a longer one loses its middle, since names of recordings differ at their ends. */
export function nameOf({ name }) {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 60)}…${name.slice(-59)}` : name;
}
