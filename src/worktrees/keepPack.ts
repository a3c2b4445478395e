import { chmod, copyFile, mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'

/** Checked object files, and their name in a repository. */
export interface Pack {
  pack: string
  index: string
  name: string
}

/** Copies a checked pack into a repository. Skips an empty one. */
export async function keepPack({ pack, index, name }: Pack, commonDir: string): Promise<void> {
  const folder = join(commonDir, 'objects/pack')
  await mkdir(folder, { recursive: true })
  if (await isEmpty(pack)) return
  // Git finds a pack by its index, so the index is copied last. Git deletes stale files whose names start with `tmp_`.
  for (const [from, ending] of [
    [pack, 'pack'],
    [index, 'idx'],
  ] as const) {
    const temporary = join(folder, `tmp_${name}.${ending}`)
    await copyFile(from, temporary)
    await chmod(temporary, 0o444)
    await syncFile(temporary)
    await rename(temporary, join(folder, `pack-${name}.${ending}`))
  }
}

/** Whether a pack is empty. The third 32-bit word of a pack is the number of its objects. */
async function isEmpty(pack: string): Promise<boolean> {
  const file = await open(pack, 'r')
  try {
    return (await file.read(Buffer.alloc(12), 0, 12)).buffer.readUInt32BE(8) === 0
  } finally {
    await file.close()
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
