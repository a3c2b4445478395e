import { groupings, type Grouping } from '../../../src/boardModel/group.ts'
import { parseSort, type Sort } from '../../../src/boardModel/sort.ts'
import type { BoardView } from '../app/router.ts'

/** How a board is shown. */
export interface ViewState {
  filter: string
  sort: Sort
  isReversed: boolean
  isTable: boolean
  /** The property whose values the cards are grouped by. */
  group?: Grouping
}

/** Parses a view from an address. Unknown values count as the default. */
export const parseView = ({ filter = '', sort, view, group }: BoardView = {}): ViewState => ({
  filter,
  ...parseSort(sort),
  isTable: view === 'table',
  group: groupings.find(each => each === group),
})

/** Returns a view as an address writes it, without defaults. */
export const formatView = ({ filter, sort, isReversed, isTable, group }: ViewState): Required<BoardView> => ({
  filter,
  sort: sort === 'board' ? '' : `${isReversed ? '-' : ''}${sort}`,
  view: isTable ? 'table' : '',
  group: group ?? '',
})

export const groupLabels: Record<Grouping, string> = {
  assignee: 'Assignee',
  priority: 'Priority',
  label: 'Label',
  parent: 'Parent',
  agent: 'Agent',
}
