import { gitOutput } from './git.ts'

const timeoutMs = 5 * 60_000
/** The number of objects from which Git keeps a pack instead of single files, as in `transfer.unpackLimit`. */
const minKeptObjects = 100

/**
 * Adds the objects of a pack to a repository. Git computes the name of each object again, replaces none, and rejects
 * objects that are malformed or refer to missing ones.
 * @throws GitFailed, and then some of the objects can be in the repository
 */
export async function receivePack(commonDir: string, pack: Buffer): Promise<void> {
  // The number of objects is the third word of a pack.
  const count = pack.length < 12 ? 0 : pack.readUInt32BE(8)
  if (count === 0) return
  const args = count < minKeptObjects ? ['unpack-objects', '-q'] : ['index-pack', '--stdin', '--fix-thin']
  await gitOutput(commonDir, [...args, '--strict'], { input: pack, env: { GIT_DIR: commonDir }, timeoutMs })
}
