// Removes everything in a folder, whatever its depth, size and modes: halo runs this in a sandbox of its own image, as the
// user whose files they are, before it has the engine remove a volume. The engine holds a file open for each level.
//
//   node empty-volume.mjs <folder>
//
// Each subfolder is first moved to the top. So no path is longer than two names, and no memory grows with the depth or
// the number of files. What the user may not change stays. The kernel
// keeps such folders in the upper volume of an overlay; they are not deep.
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';

const [, , top] = process.argv;
const prefix = `${randomBytes(8).toString('hex')}-`;
let moved = 0;

/** Names are strings with one character a byte, because they need not be text. */
function at(folder, name) {
  return Buffer.from(`${folder}/${name}`, 'latin1');
}

/** Answers whether it was done; false if the user may not do it. */
function tryTo(work) {
  try {
    work();
    return true;
  } catch (error) {
    if (['EACCES', 'EPERM', 'ENOTEMPTY'].includes(error.code)) return false;
    throw error;
  }
}

/** Removes the files of a folder, and moves its subfolders to the top under new names. */
function clear(folder) {
  // Once more after changes: some file systems pass over entries of a folder that shrinks while it is read.
  while (clearOnce(folder));
}

/** Answers whether anything was removed or moved. */
function clearOnce(folder) {
  const entries = fs.opendirSync(folder, { encoding: 'latin1', bufferSize: 256 });
  let changed = false;
  for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
    if (folder === top && entry.name.startsWith(prefix)) continue;
    const path = at(folder, entry.name);
    if (!entry.isDirectory()) {
      if (tryTo(() => fs.unlinkSync(path))) changed = true;
      continue;
    }
    // A folder that its owner cannot write to can neither be moved nor emptied.
    tryTo(() => fs.chmodSync(path, 0o700));
    if (!tryTo(() => fs.renameSync(path, at(top, `${prefix}${moved}`)))) continue;
    moved += 1;
    changed = true;
  }
  entries.closeSync();
  return changed;
}

clear(top);
for (let next = 0; next < moved; next += 1) {
  const folder = `${top}/${prefix}${next}`;
  tryTo(() => clear(folder));
  tryTo(() => fs.rmdirSync(folder));
}
