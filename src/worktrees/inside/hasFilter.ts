import { nulSeparated } from '../../git/git.ts'
import type { Quarantine } from './quarantine.ts'

/** Whether one of the files has one of the filters. */
export async function hasFilter(
  quarantine: Quarantine,
  paths: readonly string[],
  names: readonly string[],
): Promise<boolean> {
  if (paths.length === 0 || names.length === 0) return false
  const attributes = nulSeparated(
    await quarantine.run(['check-attr', '-z', '--stdin', 'filter'], { input: paths.map(path => `${path}\0`).join('') }),
  )
  return attributes.some((filter, index) => index % 3 === 2 && names.includes(filter))
}
