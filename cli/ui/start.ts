import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Context } from '../context/context.ts'
import { exitOf } from '../failures/failure.ts'
import { pickNamed, type Named } from '../context/resolve.ts'
import type { BoardRecord, UserSettings } from './state/model.ts'
import type { Card, Column } from '../../src/boardModel/cardCache.ts'

/** The data of the first frame. `pages` are the first cards of each column, `limit` at most. */
export interface Start {
  project: Named
  /** Without a current project: all projects. */
  projects?: readonly Named[]
  boards: readonly BoardRecord[]
  boardId: string
  columns: readonly Column[]
  pages: readonly (readonly Card[])[]
  limit: number
  settings: UserSettings
  shortcuts: Output<Contract['settings']['getShortcuts']>
}

const limit = 100

/**
 * Reads the project, the named board or the first one, and the user's settings; without a current project, all
 * projects.
 * @throws Failure (not found) when there is no such board; ApiFailure | Unreachable
 */
export async function readStart(context: Context, wanted: string | undefined): Promise<Start> {
  const { client } = context
  const settings = Promise.all([client.settings.getUser(), client.settings.getShortcuts()])
  settings.catch(() => {
    /* The error is handled by the code that awaits the promise. */
  })
  const project = await chosenProject(context)
  if (!('id' in project)) {
    const [user, shortcuts] = await settings
    const none = { project: { id: '', name: '' }, boards: [], boardId: '', columns: [], pages: [], limit }
    return { ...none, projects: project.projects, settings: user, shortcuts }
  }
  const [boards, all] = await Promise.all([
    client.boards.list({ projectId: project.id }),
    client.columns.list({ projectId: project.id }),
  ])
  const board = wanted === undefined ? boards[0] : pickNamed('board', boards, wanted, 'board boards list')
  const columns = all.filter(({ boardId }) => boardId === board?.id)
  const pages = await Promise.all(
    columns.map(({ id }) => client.cards.list({ projectId: project.id, columnId: id, offset: 0, limit })),
  )
  const [user, shortcuts] = await settings
  return { project, boards, boardId: board?.id ?? '', columns, pages, limit, settings: user, shortcuts }
}

/** The current project, or all of them. An unknown name, and a server without projects, are errors. */
async function chosenProject(context: Context): Promise<Named | { projects: readonly Named[] }> {
  try {
    return await context.project()
  } catch (error) {
    if (context.selection.project || exitOf(error) !== 'usage') throw error
    const projects = await context.client.projects.list()
    if (projects.length === 0) throw error
    return { projects: projects.map(({ id, name }) => ({ id, name })) }
  }
}
