import type { FloorKind, Via, WorkKind } from './ipc.ts'
import type { Exchange } from './load.ts'
import type { Seeded, SeededProject } from './seed.ts'
import { largest, sizes, smallest } from './sizes.ts'

/** One kind of request, in the form for the board and its floors. */
export interface Work {
  /** `list 10,000`: its kind comes first, and `--only` compares it. */
  name: string
  kind: WorkKind
  via: Via
  title: string
  project: SeededProject
  floors: readonly FloorKind[]
  /** Returns a different request each time. */
  next(): Exchange
}

export const pageSize = 50

export const grouped = (count: number): string => count.toLocaleString('en-US')

type Plan = [make: (project: SeededProject, via: Via) => Work, kind: WorkKind, size: number, via: Via]
const plan = (kind: WorkKind, size: number, via: Via = 'key'): Plan => [makers[kind], kind, size, via]
/** All works: first reads with a key and with a sign-in token, and then writes. */
const plans = (): Plan[] => [
  plan('get', smallest),
  plan('get', largest),
  ...sizes.map(size => plan('list', size)),
  plan('stats', largest),
  plan('search', largest, 'sign-in'),
  plan('get', largest, 'sign-in'),
  plan('list', largest, 'sign-in'),
  ...sizes.map(size => plan('move', size)),
  plan('create', smallest),
  plan('create', largest),
  plan('move', 10_000, 'sign-in'),
  plan('create', largest, 'sign-in'),
]

/** The works of the existing projects. */
export const worksOf = ({ projects }: Seeded): Work[] =>
  plans().flatMap(([make, , size, via]) => (projects[size] ? [make(projects[size], via)] : []))

/** The sizes of projects that the selected works need. */
export const sizesOf = (isWanted: (name: string) => boolean): number[] =>
  sizes.filter(size => plans().some(([, kind, each, via]) => each === size && isWanted(nameOf(kind, size, via))))

const nameOf = (kind: WorkKind, cards: number, via: Via) =>
  `${kind} ${grouped(cards)}${isExternal(via) ? '' : ' signed in'}`
const isExternal = (via: Via) => via === 'key'
const cardsOf = ({ projectId }: SeededProject, via: Via) =>
  `${isExternal(via) ? '/api/external' : '/api'}/projects/${projectId}/cards`
const work = (
  kind: WorkKind,
  via: Via,
  project: SeededProject,
  title: string,
  floors: readonly FloorKind[],
  next: () => Exchange,
): Work => {
  const how = isExternal(via) ? '' : ', sign-in token'
  return {
    name: nameOf(kind, project.cards, via),
    kind,
    via,
    project,
    floors,
    title: `${title}${how}`,
    next,
  }
}

const getWork = (project: SeededProject, via: Via): Work =>
  work(
    'get',
    via,
    project,
    `get a card of ${grouped(project.cards)}`,
    ['raw', 'statement'],
    strolling(project, project.cards, card => ({ method: 'GET', path: `${cardsOf(project, via)}/${card}` })),
  )

/** Pages from all over the project, each of them full and with a next page. */
const listWork = (project: SeededProject, via: Via): Work =>
  work(
    'list',
    via,
    project,
    `list ${pageSize} of ${grouped(project.cards)} cards`,
    !isExternal(via)
      ? ['raw', 'objects']
      : project.cards === largest
        ? ['raw', 'statement', 'objects']
        : ['raw', 'statement'],
    strolling(project, project.cards - pageSize - 1, card => ({
      method: 'GET',
      path: `${cardsOf(project, via)}?limit=${pageSize}&cursor=${card}`,
    })),
  )

const statsWork = (project: SeededProject): Work =>
  work('stats', 'key', project, `stats of ${grouped(project.cards)} cards`, ['raw'], () => ({
    method: 'GET',
    path: `/api/external/projects/${project.projectId}/stats`,
  }))

/** A word in all cards, one in a few, prefixes of both, two words, and one in none. */
const searchWork = (project: SeededProject): Work => {
  const queries = ['customer', 'Card 042137', 'custo', '0421', 'fix customer', 'no-such-word', 'find the cause']
  let at = 0
  return work('search', 'sign-in', project, `search ${grouped(project.cards)} cards`, ['raw'], () => ({
    method: 'GET',
    path: `/api/search?q=${encodeURIComponent(queries[at++ % queries.length]!)}`,
  }))
}

const moveWork = (project: SeededProject, via: Via): Work =>
  work(
    'move',
    via,
    project,
    `move to the top of ${grouped(project.cards)}`,
    ['raw', 'statement'],
    strolling(project, project.cards, card => ({
      method: 'PATCH',
      path: `${cardsOf(project, via)}/${card}/move`,
      body: isExternal(via)
        ? { targetColumnId: project.columnId, position: 0 }
        : { columnId: String(project.columnId), position: 0 },
    })),
  )

const createWork = (project: SeededProject, via: Via): Work => {
  let number = 0
  const card = () => ({ title: `Card ${++number}`, prompt: 'Find the cause and fix it.' })
  return work('create', via, project, `create a card next to ${grouped(project.cards)}`, ['raw', 'statement'], () =>
    isExternal(via)
      ? { method: 'POST', path: cardsOf(project, via), body: card() }
      : { method: 'POST', path: '/api/cards', body: { projectId: String(project.projectId), ...card() } },
  )
}

const makers = {
  get: getWork,
  list: listWork,
  stats: statsWork,
  search: searchWork,
  move: moveWork,
  create: createWork,
}

/** Visits a project's first `count` cards once each, in a scattered order. */
function strolling({ firstCardId }: SeededProject, count: number, request: (card: number) => Exchange): () => Exchange {
  let at = 0
  return () => {
    at = (at + 37_813) % count
    return request(firstCardId + at)
  }
}
