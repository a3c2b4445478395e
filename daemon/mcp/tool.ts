import * as v from 'valibot'
import type { App } from '../../src/app.ts'
import { traitsOf, type BoardToolName } from '../../src/contract/agents/boardTools.ts'
import { refTo } from '../../src/contract/fields.ts'
import type { Route, Who } from '../../src/contract/route.ts'
import type { ToolGroup } from '../../src/contract/agents/tool.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import type { Reader } from '../../src/store/engine/database.ts'
import type { AuditDependencies, AuditTrail, Described } from '../http/auditTrail.ts'
import { authorize } from '../http/authorize.ts'
import type { EndpointDependencies } from '../http/callEndpoint.ts'
import { validate } from '../http/validate.ts'
import { objectOf } from './inputSchema.ts'
import type { Description } from './rowTools.ts'
import { visibleJson } from './visible.ts'

/** The services that tools use. */
export type ToolDependencies = EndpointDependencies &
  AuditDependencies &
  Pick<App, 'attachmentFiles' | 'config' | 'logs' | 'supervisor' | 'worktrees'>

/** The content of a tool's answer, as the protocol defines it. */
export type Content = { type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string }
/** The project and card of a call. `cardId` is 0 for tools without a card. */
interface Place {
  projectId: number
  cardId: number
}
interface Spec<Entries extends v.ObjectEntries> {
  audited?: Described
  name: BoardToolName
  description: string
  /** The machine that answers the tool if several machines share the board, as for routes. */
  at?: Route['at']
  /**
   * Whether the tool is about a card. `own`: an agent can name only its own card. `any`: an agent can also name another card of its
   * project.
   */
  card?: 'own' | 'any'
  /** The row whose permission people and keys need for the tool. Agents do not need it. */
  forPeople?: { row: Route; group: ToolGroup }
  entries: Entries
  run(
    app: ToolDependencies,
    place: Place,
    input: v.InferOutput<v.StrictObjectSchema<Entries, undefined>>,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<Content[]>
}
export interface Tool {
  /** For people and keys: the route whose permission the tool requires, and its group. */
  forPeople: { who: Who; group: ToolGroup } | undefined
  /** The audit log entry of a call. */
  audited: Described | undefined
  at: Route['at']
  /** The tool changes nothing. */
  readOnly: boolean
  /** The tool is only for the reviewer of a gate. */
  forReviewers: boolean
  /** Checks a call. Returns the project and card it is about. @throws Problem */
  place(caller: Caller, input: unknown, db: Reader): Promise<Place>
  describe(caller: Caller): Description
  /** @param signal aborted when the caller no longer waits for the result @throws Problem */
  call(
    app: ToolDependencies,
    caller: Caller,
    input: unknown,
    signal: AbortSignal,
    audit?: AuditTrail,
  ): Promise<Content[]>
}

/** Creates a tool. An agent's token names its project and card. Other callers pass them. */
export function defineTool<const Entries extends v.ObjectEntries>(spec: Spec<Entries>): Tool {
  const traits = traitsOf(spec.name)
  const { title, readOnly = false, destructive = false, runsCommands = false, forReviewers = false } = traits
  const forAgents = v.strictObject({
    ...(spec.card === 'any' && {
      cardId: v.optional(
        v.pipe(refTo('CARD_NOT_FOUND'), v.description('Another card of the project (default: your own card).')),
      ),
    }),
    ...spec.entries,
  })
  const forPeople = v.strictObject({
    projectId: refTo('PROJECT_NOT_FOUND'),
    ...(spec.card && { cardId: refTo('CARD_NOT_FOUND') }),
    ...spec.entries,
  })
  const schemaFor = (caller: Caller): v.GenericSchema => (caller.agent ? forAgents : forPeople)
  const check = async (caller: Caller, input: unknown, db: Reader): Promise<{ place: Place; rest: unknown }> => {
    const { projectId = 0, cardId = 0, ...rest } = validate(schemaFor(caller), input) as Partial<Place>
    if (!caller.agent) await authorize(db, rowOf(spec), caller, { projectId, cardId })
    return {
      rest,
      place: caller.agent
        ? { projectId: caller.agent.projectId, cardId: cardId || caller.agent.cardId }
        : { projectId, cardId },
    }
  }
  return {
    forPeople: spec.forPeople && { who: spec.forPeople.row.who, group: spec.forPeople.group },
    at: spec.at,
    readOnly,
    forReviewers,
    audited: spec.audited,
    place: async (caller, input, db) => (await check(caller, input, db)).place,
    describe: caller => ({
      name: spec.name,
      title,
      description: spec.description,
      inputSchema: { type: 'object', ...objectOf(schemaFor(caller)), additionalProperties: false },
      annotations: {
        readOnlyHint: readOnly,
        destructiveHint: destructive || runsCommands,
        openWorldHint: runsCommands,
      },
    }),
    call: async (app, caller, input, signal, audit) => {
      const { place, rest } = await check(caller, input, app.db)
      audit?.setInput({ ...(rest as object), ...place })
      return spec.run(app, place, rest as v.InferOutput<v.StrictObjectSchema<Entries, undefined>>, caller, signal)
    },
  }
}

/** A result as JSON text, which every client can read. */
export const json = (value: unknown): Content[] => [{ type: 'text', text: visibleJson(value) }]

/** The route whose permission a tool requires, in the project of the call. */
const rowOf = ({ forPeople }: { forPeople?: { row: Route } }): Route => {
  const row = forPeople!.row
  return row.who.kind === 'member' ? { ...row, who: { ...row.who, through: 'projectId' } } : row
}
