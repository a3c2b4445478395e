import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { checksOfAll, reviewOfAll } from '../../src/contract/forges/pullRequestSummary.ts'
import type { Column } from '../output/output.ts'

export type Pull = Output<Contract['pullRequests']['get']>
type Listed = Output<Contract['pullRequests']['list']>[number]

/** Summarizes a pull request's checks or reviews in one word. */
export const checksOf = ({ checks }: Pick<Pull, 'checks'>): string | null => checksOfAll(checks)
const reviewOf = ({ reviews }: Pick<Pull, 'reviews'>): string | null => reviewOfAll(reviews)?.replace('_', ' ') ?? null

const stateOf = ({ state, draft }: Pick<Pull, 'state' | 'draft'>): string =>
  state === 'open' && draft ? 'draft' : state

/** The fields that only JSON output includes. */
const hidden = [
  'repository',
  'draft',
  'branch',
  'headCommit',
  'mergeable',
  'mergeCommit',
  'mergeMethod',
  'rounds',
  'readAt',
  'createdAt',
  'updatedAt',
] as const

export const pullFields: Column<Pull>[] = [
  { name: 'number', style: 'id', value: pull => pull.number },
  { name: 'title', style: 'title', value: pull => pull.title },
  { name: 'state', style: 'status', value: stateOf },
  { name: 'base', value: pull => pull.base },
  { name: 'checks', style: 'status', value: checksOf },
  { name: 'reviews', header: 'Review', value: reviewOf },
  { name: 'autoMerge', header: 'Auto-merge', value: pull => pull.autoMerge },
  { name: 'url', value: pull => pull.url },
  { name: 'stopped', value: pull => pull.stopped },
  { name: 'problem', value: pull => pull.problem },
  ...hidden.map((name): Column<Pull> => ({ name, hidden: true, value: pull => pull[name] })),
]
export const listedFields: Column<Listed>[] = [
  { name: 'cardId', header: 'CARD', style: 'id', align: 'right', value: pull => pull.cardId },
  { name: 'number', align: 'right', value: pull => pull.number },
  { name: 'title', style: 'title', value: pull => pull.title },
  { name: 'state', style: 'status', value: stateOf },
  { name: 'checks', style: 'status', value: checksOf },
  { name: 'reviews', header: 'REVIEW', value: reviewOf },
  { name: 'url', spare: true, value: pull => pull.url },
  ...(['cardTitle', 'base', 'autoMerge', 'stopped', 'problem', ...hidden] as const).map((name): Column<Listed> => ({
    name,
    hidden: true,
    value: pull => pull[name],
  })),
]

/** The checks and reviews of a pull request, one per line. */
export function pullText({ checks, reviews }: Pull): string {
  const lines = [
    ...checks.map(({ name, state, url }) => line(state, name, url)),
    ...reviews.map(({ author, state, url }) => line(state.replace('_', ' '), author, url)),
  ]
  return lines.join('\n')
}

const line = (state: string, name: string, url: string | null): string =>
  [state.padEnd(17), name, url].filter(Boolean).join('  ').trimEnd()
