import { realpathSync } from 'node:fs'
import { sep } from 'node:path'
import { usage, type Failure } from '../failures/failure.ts'
import { askForLine } from '../input/prompt.ts'
import { pickNamed, resolveProject, type LookupContext, type Named } from './resolve.ts'

export interface CurrentProject extends Named {
  /** Projects of other owners whose folders also contain the working folder. */
  sameFolder?: readonly Named[]
  /** The projects of the working folder, if the profile names another one. */
  insteadOf?: readonly Named[]
}

/** The candidates for the current project, closest first, and the other projects in the working folder. */
export interface Candidates {
  projects: readonly CurrentProject[]
  /** Projects of other owners that the caller has not accepted. They are never the current project. */
  notAccepted: readonly Named[]
}

/**
 * Finds the candidates for the current project: the selected one, or those with the closest folder around the working folder.
 * @throws Failure (usage) for an API key without a project's ID, (not found) for one that does not exist
 */
export async function findProjects(context: LookupContext): Promise<Candidates> {
  const wanted = context.selection.project
  if (context.external && !wanted) throw noProject('an API key requires a project: -P ID')
  if (context.external || (wanted && !isOfProfile(wanted)))
    return { projects: [await resolveProject(context, wanted!.value)], notAccepted: [] }
  const all = await context.client.projects.list()
  const ofFolder = projectsOfFolder(all)
  if (!wanted) return ofFolder
  const { id, name } = pickNamed('project', all, wanted.value, 'board projects list')
  const insteadOf = ofFolder.projects.some(project => project.id === id) ? [] : ofFolder.projects
  return { projects: [{ id, name, insteadOf }], notAccepted: [] }
}

/** Whether a profile names the project: `board projects use` can have set it in another folder. */
const isOfProfile = ({ from }: { from: string }): boolean => from.startsWith('profile ')

type Project = Awaited<ReturnType<LookupContext['client']['projects']['list']>>[number]

function projectsOfFolder(all: readonly Project[]): Candidates {
  const here = workingFolder()
  const around = all
    .filter(({ path }) => here === path || here.startsWith(path.endsWith(sep) ? path : path + sep))
    .sort((a, b) => b.path.length - a.path.length)
  const accepted = around.filter(project => project.accepted)
  const listOfOtherOwners = (ownerId: string | null) => accepted.filter(project => project.ownerId !== ownerId)
  return {
    projects: accepted
      .filter(({ path }, _, [first]) => path === first!.path)
      .map(({ id, name, ownerId }) => ({ id, name, sameFolder: listOfOtherOwners(ownerId) })),
    notAccepted: around.filter(project => !project.accepted),
  }
}

/**
 * Returns the only candidate, or asks the person to select one.
 * @throws Failure (usage) if there is none, or without a terminal
 */
export async function chooseProject(
  context: LookupContext,
  { projects, notAccepted }: Candidates,
): Promise<CurrentProject> {
  const closest = projects.length > 1 ? await askForProject(context, projects) : projects[0]
  if (closest) return closest
  if (notAccepted.length > 0)
    throw noProject(`${listNames(notAccepted)} has this folder; to use it: board projects accept ${notAccepted[0]!.id}`)
  throw noProject('select one with -P, or run: board projects use <project>')
}

/** Asks the person to select one of several projects in a folder. @throws Failure (usage) without a terminal */
async function askForProject<T extends Named>(context: LookupContext, projects: readonly T[]): Promise<T> {
  if (!context.mayAsk)
    throw usage('several projects have this folder', {
      hint: `select one with -P: ${listNames(projects)}`,
      see: 'board projects list',
    })
  const answer = await askForLine(context, `Several projects have this folder: ${listNames(projects)}. Which one`, '-P')
  return pickNamed('project', projects, answer, 'board projects list')
}

const listNames = (projects: readonly Named[]) => projects.map(({ id, name }) => `${id} (${name})`).join(', ')

const noProject = (hint: string): Failure => usage('no project is specified', { hint, see: 'board projects list' })

function workingFolder(): string {
  try {
    return realpathSync(process.cwd())
  } catch {
    return process.cwd()
  }
}
