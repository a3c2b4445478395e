import { shownName } from '../../contract/cards/fileNames.ts'
import { Problem } from '../../contract/errors.ts'
import { nulSeparated } from '../../git/fileNames.ts'
import { GitFailed } from '../../git/git.ts'
import type { Quarantine } from './quarantine.ts'
import { isPlaceholder, maxShownBytes } from './snapshot.ts'

const maxListBytes = 32 * 1024 * 1024
const timeoutMs = 60_000

/** Reads a file that differs between two trees, by its shown name. @throws Problem FILE_NOT_FOUND */
export async function readChanged(
  quarantine: Quarantine,
  trees: { before: string; after: string },
  path: string,
  side: 'old' | 'new',
): Promise<Buffer> {
  const blob = await findBlob(quarantine, trees, path, side)
  const content = await quarantine
    .run(['cat-file', 'blob', blob], { maxBytes: maxShownBytes })
    .catch((error: unknown) => {
      if (!(error instanceof GitFailed) || error.reason === 'timeout') throw error
      throw error.reason === 'output' ? tooLarge() : new Problem('FILE_NOT_FOUND', undefined, { cause: error })
    })
  if (isPlaceholder(content)) throw tooLarge()
  return content
}

/**
 * Finds a changed file by its shown name: its blob before or after the change.
 * @throws Problem FILE_NOT_FOUND
 */
async function findBlob(
  quarantine: Quarantine,
  { before, after }: { before: string; after: string },
  path: string,
  side: 'old' | 'new',
): Promise<string> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-abbrev', '--no-renames', before, after]
  const parts = nulSeparated(await quarantine.run(args, { timeoutMs, maxBytes: maxListBytes }))
  const at = parts.findIndex((part, index) => index % 2 === 1 && shownName(part) === path)
  // ":mode mode ID ID status"
  const [, , old, present] = (parts[at - 1] ?? '').split(' ')
  const blob = side === 'new' ? present : old
  if (blob === undefined || /^0*$/.test(blob)) throw new Problem('FILE_NOT_FOUND')
  return blob
}

const tooLarge = () => new Problem('FILE_NOT_FOUND', 'The file is too large to show, or cannot be read.')
