import { lstat, readFile, readdir, unlink } from 'node:fs/promises'
import { gitOutput, inGitDir } from '../../git/git.ts'
import { newRefsFile, refOf, shownRefsFile, type Shadow } from '../../git/shadow.ts'
import { inFolder, keepUntrusted, readPlain, readUntrusted, writeUntrusted } from '../../git/untrustedFiles.ts'

const maxRefsBytes = 256 * 1024 * 1024
const maxRefBytes = 1024
const maxFolders = 1000
const isId = /^([0-9a-f]{40}|[0-9a-f]{64})$/
const staleLockMs = 60_000

/**
 * Updates the branches and tags of the repository in a shadow from the list that the server wrote in the shadow's folder. Refs that the
 * agent created under other names stay.
 * @param tip the commit for the shadow's own branch; undefined leaves the branch unchanged
 */
export async function refreshRefs(shadow: Shadow, tip: string | undefined): Promise<void> {
  const [before, listed] = await Promise.all(
    [shownRefsFile(shadow), newRefsFile(shadow)].map(file => readFile(file, 'utf8').catch(() => '')),
  )
  const hiding = parse(listed!)
  if (shadow.state.branch !== null) hiding.delete(refOf(shadow.state))
  await Promise.all([pack(shadow, before!, listed!), putOwn(shadow, tip), dropLoose(shadow.common, hiding)])
}

async function pack({ common }: Shadow, before: string, listed: string): Promise<void> {
  const packed = await readUntrusted(common, 'packed-refs', maxRefsBytes)
  if (listed === before && packed === before) return
  const known = new Set([...parse(listed).keys(), ...parse(before).keys()])
  const made = [...parse(packed ?? '')].filter(([name]) => !known.has(name))
  await writeUntrusted(common, 'packed-refs', listed + made.map(([name, id]) => `${id} ${name}\n`).join(''))
}

async function putOwn({ common, state }: Shadow, tip: string | undefined): Promise<void> {
  if (state.branch === null || tip === undefined) return
  await keepUntrusted(common, refOf(state), `${tip}\n`)
}

const parse = (text: string): Map<string, string> =>
  new Map(
    [...text.matchAll(/^([0-9a-f]{40}|[0-9a-f]{64}) (refs\/[^\0\s]+)$/gm)].map(([, id, name]) => [name!, id!] as const),
  )

/** Removes loose refs that hide a branch or a tag of the repository, and locks of a Git process that was killed. */
async function dropLoose(common: string, names: ReadonlyMap<string, string>): Promise<void> {
  await eachLoose(common, async (name, file) => {
    if (names.has(name) || (await isStaleLock(file))) await unlink(file)
  })
}

async function eachLoose(common: string, work: (name: string, file: string) => Promise<void>): Promise<void> {
  const waiting = ['refs']
  for (let count = 0; waiting.length > 0 && count < maxFolders; count++) {
    const path = waiting.shift()!
    await inFolder(common, path, async folder => {
      for (const entry of await readdir(folder, { withFileTypes: true }))
        if (entry.isDirectory()) waiting.push(`${path}/${entry.name}`)
        else await work(`${path}/${entry.name}`, `${folder}/${entry.name}`)
    }).catch(() => {
      /* The ref was removed or replaced in the meantime, so it protects no commit. */
    })
  }
}

/** Whether the agent has its own branches, tags or stash with commits that the repository lacks. */
export async function hasOwnCommits(shadow: Shadow): Promise<boolean> {
  const { common, commonDir } = shadow
  const shown = parse(await readFile(shownRefsFile(shadow), 'utf8').catch(() => ''))
  const packed = parse((await readUntrusted(common, 'packed-refs', maxRefsBytes)) ?? '')
  const ids = new Set([...packed].filter(([name]) => !shown.has(name)).map(([, id]) => id))
  await eachLoose(common, async (name, file) => {
    const id = (await readPlain(file, maxRefBytes).catch(() => '')).trim()
    // Commits of a remote are still available on the remote.
    if (isId.test(id) && !name.startsWith('refs/remotes/')) ids.add(id)
  })
  if (ids.size === 0) return false
  const answers = await gitOutput(commonDir, ['cat-file', '--batch-check'], {
    env: inGitDir(commonDir),
    input: [...ids].map(id => `${id}\n`).join(''),
    maxBytes: maxRefsBytes,
  })
  return answers.includes(' missing\n')
}

const isStaleLock = async (path: string) => {
  const stats = path.endsWith('.lock') ? await lstat(path).catch(() => undefined) : undefined
  return stats !== undefined && Date.now() - stats.mtimeMs > staleLockMs
}
