import { dirname, join } from 'node:path'
import { findProjectRepository } from '../git/checkoutState.ts'
import { readStamps } from '../git/fileStamps.ts'
import { listRefs } from '../git/listRefs.ts'
import type { Reader } from '../store/engine/database.ts'
import { listMergedBranches, type MergedBranch } from '../store/forges/merges.ts'
import type { ProjectRow } from '../store/projects/projects.ts'
import { projectIn } from './repositoryWork.ts'

/** The commits of the branches of a project's merged cards when they were last checked. */
export interface CheckedBranches {
  /** The paths that Git changes when it moves one of these branches. */
  places: readonly string[]
  /** The state of these paths. Undefined if the branches must be read again. */
  stamps: string | undefined
  /** The state of the project's merges when the branches were read. */
  merges: string
  /** The commits, by card and repository. */
  tips: ReadonlyMap<string, string>
}

/** Whether no branch has moved since the check. Git replaces the file of a branch, so the folder of the file changes with each commit. */
export const areUnchanged = async (checked: CheckedBranches | undefined, merges: string): Promise<boolean> =>
  checked?.stamps !== undefined && checked.merges === merges && checked.stamps === (await readStamps(checked.places))

/** Reads the branches of a project's merged cards, and checks the cards of those that moved since the last check. */
export async function checkBranches(
  db: Reader,
  project: ProjectRow,
  merges: string,
  before: CheckedBranches | undefined,
  checkCard: (id: number) => Promise<void>,
): Promise<CheckedBranches> {
  const branches = await listMergedBranches(db, project.id)
  const repositories: Array<{ name: string; commonDir: string }> = []
  for (const name of new Set(branches.map(({ repository }) => repository))) {
    const found = await findProjectRepository(projectIn(project, name))
    if (found) repositories.push({ name, commonDir: found.commonDir })
  }
  const places = repositories.flatMap(({ name, commonDir }) =>
    placesOf(branches.filter(({ repository }) => repository === name)).map(place => join(commonDir, place)),
  )
  const [stamps, tips] = [await readStamps(places), new Map<string, string>()]
  for (const { name, commonDir } of repositories) {
    const refs = (await listRefs(commonDir)).split('\n').map(line => line.split(' ') as [string, string?])
    const present = new Map(refs.map(([tip, ref]) => [ref, tip]))
    for (const { id, repository, branch, head } of branches) {
      const [key, tip] = [`${id} ${repository}`, present.get(`refs/heads/${branch}`)]
      if (repository !== name || tip === undefined) continue
      if (tip !== head && tip !== before?.tips.get(key)) await checkCard(id)
      tips.set(key, tip)
    }
  }
  return { places, stamps, merges, tips }
}

const placesOf = (branches: readonly MergedBranch[]): string[] => [
  ...new Set([...branches.map(({ branch }) => dirname(`refs/heads/${branch}`)), 'packed-refs', 'reftable']),
]
