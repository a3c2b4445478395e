import { planFieldNames } from '../cards/planFields.ts'

/** The purposes of tools. A client can request only some groups. */
export const toolGroups = ['find', 'change', 'run', 'review'] as const
export type ToolGroup = (typeof toolGroups)[number]

/** The parameter for a list's next page. It is the last item's ID or, if one of the fields `offsetWith` is set, an offset. */
interface Pages {
  after: string
  offsetWith?: readonly string[]
  /**
   * For a chronological list whose first page contains the newest items: the parameter for the previous page, which is the first item's ID.
   */
  before?: string
}

/** A row as a tool of the Model Context Protocol, for people and keys. Its description is the row's summary and details. */
export interface Tool {
  name: string
  title: string
  group: ToolGroup
  /** 'destroys': the tool deletes something, or cannot be undone. */
  does: 'reads' | 'changes' | 'destroys'
  /** Whether the tool runs commands, or reaches outside of the board. */
  openWorld?: true
  /** Information that the summary and the details omit, for a model. */
  note?: string
  /** The fields of an item in a short response. By default, all fields. */
  brief?: readonly string[]
  /** Whether the tool starts a card's agent if possible, and must report if the agent did not start. */
  starts?: true
  /** The default inputs of a call. */
  usual?: Readonly<Record<string, unknown>>
  pages?: Pages
}

/** The fields of a card in a short response. */
const briefCard = [
  'id',
  'projectId',
  'boardId',
  'columnId',
  'columnName',
  'title',
  'labels',
  'priority',
  'dueAt',
  'assignees',
  'status',
  'statusReason',
  'ready',
  'blocked',
  'monitorQuestions',
  'deferred',
  'parentId',
  'reviewState',
  'mergedAt',
  'mergedInto',
  'archivedAt',
  'updatedAt',
] as const
export const briefCards = briefCard.filter(
  field => field !== 'projectId' && field !== 'boardId' && field !== 'updatedAt',
)
export const wholeCard = [
  ...briefCard,
  'columnType',
  'prompt',
  'blockedBy',
  'blocks',
  'discoveredFromId',
  ...planFieldNames,
  'children',
  'agent',
  'model',
  'gitBranch',
  'mergedCommit',
  'lastAgentAction',
  'pullRequest',
  'commentCount',
  'attachmentCount',
  'createdAt',
  'version',
] as const
export const changedCard = briefCard
/** The fields of a card's agent in a short response. */
export const briefAgent = [
  'cardId',
  'sessionId',
  'agent',
  'model',
  'status',
  'statusReason',
  'waitingFor',
  'questions',
  'startedAt',
  'endedAt',
  'notBefore',
  'silentSince',
  'retrying',
  'usage',
  'summary',
  'branch',
] as const
