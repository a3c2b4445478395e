import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listAlternates } from '../../git/alternates.ts'
import { gitOutput, type GitOptions } from '../../git/git.ts'
import { writeGitFolder } from '../../git/gitFolder.ts'
import { transferPrefix, type Shadow } from '../../git/shadow.ts'
import { copyPlain } from '../../git/untrustedFiles.ts'
import { bareEnvironment } from './sendCommits.ts'

const timeoutMs = 5 * 60_000
const maxShallowBytes = 64 * 1024 * 1024

/**
 * Brings single objects of a shadow into a Git folder. The shadow's objects can be forged: one Git process packs them, and another one,
 * which does not see the shadow, computes the name of each object again.
 * @throws GitFailed
 */
export async function bringObjects(shadow: Shadow, ids: readonly string[], gitDir: string): Promise<void> {
  const own = join(shadow.common, 'objects')
  await listAlternates(own)
  const folder = await mkdtemp(join(tmpdir(), transferPrefix))
  try {
    await writeGitFolder(folder, ids[0]?.length === 64 ? 'sha256' : undefined, [join(shadow.commonDir, 'objects'), own])
    await copyPlain(join(shadow.commonDir, 'shallow'), join(folder, 'shallow'), maxShallowBytes)
    const runIn = (path: string, args: readonly string[], options?: GitOptions) =>
      gitOutput(folder, ['-c', 'pack.writeReverseIndex=false', ...args], {
        timeoutMs,
        ...options,
        env: bareEnvironment(path),
      })
    const pack = join(gitDir, 'objects/pack/pack-arriving.pack')
    await runIn(folder, ['pack-objects', '--stdout', '--quiet', '--delta-base-offset'], {
      input: `${ids.join('\n')}\n`,
      appendTo: pack,
    })
    await runIn(gitDir, ['index-pack', '--fsck-objects', '-o', pack.replace(/pack$/, 'idx'), pack])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
