// A small file that is replaced as a whole: a power cut leaves the old one or the new one, never a part.

import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Resolves once it is on the disk. Rejects with an error that names `user` and the file, which is then as it was. */
export async function replaceFile(user: string, file: string, text: string): Promise<void> {
  const next = `${file}.next`
  try {
    await synced(next, 'w', text)
    await rename(next, file)
    // The rename itself is durable only once the folder is.
    await synced(dirname(file), 'r')
  } catch (error) {
    throw new Error(`${user} ${file}: ${(error as Error).message}`, { cause: error })
  }
}

async function synced(file: string, flags: 'r' | 'w', text?: string): Promise<void> {
  const handle = await open(file, flags, 0o600)
  try {
    if (text !== undefined) await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
