import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { kindOf } from './kindOf.ts'
import { readPlain } from './untrustedFiles.ts'

/** Reading more files takes longer than a process. */
const maxLoose = 200
/** Only Git can decide whether other names are valid. */
const usualName = /^refs(\/[\w+@#%=,-]+(\.[\w+@#%=,-]+)*)+$/
const maxRefBytes = 1024
const maxPackedBytes = 256 * 1024 * 1024

/**
 * All refs of a repository in the format of `for-each-ref` with "%(objectname) %(refname)", read from their files. Undefined if
 * there are many, or if a ref is not a plain ID or name in a file.
 */
export async function listRefFiles(commonDir: string): Promise<string | undefined> {
  if (!(await keepsFiles(commonDir))) return undefined
  // Git packs a ref before it removes the ref's file, so the files are read before the packed refs.
  const loose = await readLoose(commonDir).catch(() => undefined)
  if (!loose) return undefined
  const ids = new Map<string, string>()
  for (const line of (await readPacked(commonDir)).split('\n')) {
    const [, id, name] = /^([0-9a-f]{40}|[0-9a-f]{64}) (refs\/.+)$/.exec(line) ?? []
    if (name !== undefined) ids.set(name, id!)
    else if (line !== '' && !/^[#^]/.test(line)) return undefined
  }
  for (const [name, text] of loose) {
    const id = idIn(text)
    if (id !== undefined) ids.set(name, id)
  }
  for (const [name, text] of loose) {
    if (idIn(text) !== undefined) continue
    // A symbolic ref: HEAD of a remote.
    const named = /^ref: (refs\/.+)\n$/.exec(text)?.[1]
    const id = named === undefined || (loose.has(named) && !idIn(loose.get(named)!)) ? undefined : ids.get(named)
    if (id === undefined) return undefined
    ids.set(name, id)
  }
  const names = [...ids.keys()].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  return names.map(name => `${ids.get(name)!} ${name}\n`).join('')
}

/** The files of refs by name. @throws Error if there are too many, or files that Git does not create */
async function readLoose(commonDir: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const waiting = ['refs']; waiting.length > 0;) {
    const folder = waiting.shift()!
    for (const entry of await readdir(join(commonDir, folder), { withFileTypes: true })) {
      const name = `${folder}/${entry.name}`
      if (entry.isDirectory()) waiting.push(name)
      else if (!usualName.test(name) || !entry.isFile()) throw new Error('The ref is not a regular ref.')
      else if (!name.endsWith('.lock')) found.set(name, await readPlain(join(commonDir, name), maxRefBytes))
      if (found.size + waiting.length > maxLoose) throw new Error('Too many refs for single files.')
    }
  }
  return found
}

/** Whether a repository with refs in files has the ref. Runs no process. A link or a pipe at its path counts as the ref. */
export const hasRef = async (commonDir: string, name: string): Promise<boolean> =>
  // Git packs a ref before it removes the ref's file, so the file is checked before the packed refs.
  !['nothing', 'folder'].includes(await kindOf(join(commonDir, name))) ||
  (await readPacked(commonDir)).includes(` ${name}\n`)

/** The commit of a ref in a repository with refs in files. Undefined if the ref does not exist or is not a plain ID in a file. */
export async function readRefFile(commonDir: string, name: string): Promise<string | undefined> {
  if (!usualName.test(name)) return undefined
  const loose = await readPlain(join(commonDir, name), maxRefBytes).catch(
    ({ code }: NodeJS.ErrnoException) => code === 'ENOENT' && undefined,
  )
  if (loose !== undefined) return loose === false ? undefined : idIn(loose)
  const packed = await readPacked(commonDir)
  const at = packed.indexOf(` ${name}\n`)
  return at < 0 ? undefined : idIn(packed.slice(packed.lastIndexOf('\n', at) + 1, at + 1))
}

const idIn = (text: string): string | undefined => /^([0-9a-f]{40}|[0-9a-f]{64})\s$/.exec(text)?.[1]

/** Whether a repository stores its refs in separate files, and its packed refs in one more file that is not a link. */
export const keepsFiles = async (commonDir: string): Promise<boolean> =>
  (await kindOf(join(commonDir, 'reftable'))) === 'nothing' &&
  ['nothing', 'file'].includes(await kindOf(join(commonDir, 'packed-refs')))

const readPacked = (commonDir: string): Promise<string> =>
  readPlain(join(commonDir, 'packed-refs'), maxPackedBytes).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
