/** What tools are for; a client may ask for some groups only. */
export const toolGroups = ['find', 'change', 'run', 'review'] as const
export type ToolGroup = (typeof toolGroups)[number]

/** How a list's next page is asked for: the field that takes the last item's id, or with one of `offsetWith` an offset. */
export interface Pages {
  after: string
  offsetWith?: readonly string[]
  /** A list whose end comes first, in the order of time: the field that takes the first item's id. */
  before?: string
}

/** What makes a row a tool of the Model Context Protocol, for people and keys. Its description is the row's summary. */
export interface Tool {
  name: string
  title: string
  group: ToolGroup
  /** 'destroys': it takes something away, or cannot be taken back. */
  does: 'reads' | 'changes' | 'destroys'
  /** It runs commands, or reaches outside of the board. */
  openWorld?: true
  /** What the summary does not say and a model needs. */
  note?: string
  /** The fields of an item that a short answer has; all of them without it. */
  brief?: readonly string[]
  /** It starts a card's agent where it can, and is to say where it did not. */
  starts?: true
  /** What is asked for unless a call says otherwise. */
  usual?: Readonly<Record<string, unknown>>
  pages?: Pages
}

/** What a short answer says of a card. */
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
  'startAt',
  'estimate',
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
/** What a short answer says of a card's agent. */
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
