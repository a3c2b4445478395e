import type { FloorKind, WorkKind } from './ipc.ts'
import type { Exchange } from './load.ts'
import type { Seeded, SeededProject } from './seed.ts'

/** One kind of request, as the board and its floors are asked. */
export interface Work {
  /** `list 10,000`: its kind comes first. */
  name: string
  kind: WorkKind
  title: string
  project: SeededProject
  floors: readonly FloorKind[]
  /** Another request each time. */
  next(): Exchange
}

export const pageSize = 50
export const listSizes = [100, 10_000, 100_000]
export const moveSizes = [100, 10_000]
export const largest = 100_000

export const grouped = (count: number): string => count.toLocaleString('en-US')

/** All works, reads first. */
export const worksOf = ({ projects }: Seeded): Work[] => [
  getWork(projects[largest]!), ...listSizes.map(size => listWork(projects[size]!)), ...moveSizes.map(size => moveWork(projects[size]!)), createWork(projects[largest]!),
]

const cardsOf = ({ projectId }: SeededProject) => `/api/external/projects/${projectId}/cards`

const getWork = (project: SeededProject): Work => ({
  name: 'get', kind: 'get', title: `get a card of ${grouped(project.cards)}`, project, floors: ['raw', 'statement'],
  next: strolling(project, project.cards, card => ({ method: 'GET', path: `${cardsOf(project)}/${card}` })),
})

/** Pages from all over the project, each of them full and with another one behind it. */
const listWork = (project: SeededProject): Work => ({
  name: `list ${grouped(project.cards)}`, kind: 'list', title: `list ${pageSize} of ${grouped(project.cards)} cards`, project, floors: project.cards === largest ? ['raw', 'statement', 'objects'] : ['raw', 'statement'],
  next: strolling(project, project.cards - pageSize - 1, card => ({ method: 'GET', path: `${cardsOf(project)}?limit=${pageSize}&cursor=${card}` })),
})

const moveWork = (project: SeededProject): Work => ({
  name: `move ${grouped(project.cards)}`, kind: 'move', title: `move to the top of ${grouped(project.cards)}`, project, floors: ['raw', 'statement'],
  next: strolling(project, project.cards, card => ({ method: 'PATCH', path: `${cardsOf(project)}/${card}/move`, body: { targetColumnId: project.columnId, position: 0 } })),
})

const createWork = (project: SeededProject): Work => {
  let number = 0
  return {
    name: 'create', kind: 'create', title: `create a card beside ${grouped(project.cards)}`, project, floors: ['raw', 'statement'],
    next: () => ({ method: 'POST', path: cardsOf(project), body: { title: `Card ${++number}`, prompt: 'Find the cause and mend it.' } }),
  }
}

/** Goes over a project's first `count` cards in an order that jumps and comes to every card. */
function strolling({ firstCardId }: SeededProject, count: number, request: (card: number) => Exchange): () => Exchange {
  let at = 0
  return () => {
    at = (at + 37_813) % count
    return request(firstCardId + at)
  }
}
