import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import type { App } from '../../src/app.ts'
import { traitsOf, type BoardToolName } from '../../src/contract/boardTools.ts'
import { Problem } from '../../src/contract/errors.ts'
import { refTo } from '../../src/contract/fields.ts'
import type { Route } from '../../src/contract/route.ts'
import { requireRole } from '../../src/domain/access.ts'
import type { Caller } from '../../src/domain/caller.ts'
import type { Reader } from '../../src/store/database.ts'
import type { AuditTrail, Described } from '../http/auditTrail.ts'
import { validate } from '../http/validate.ts'

/** What a tool answers, in the protocol's terms. */
export type Content = { type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string }
/** Which project and card a call is about. `cardId` is 0 for tools that are about no card. */
export interface Place {
  projectId: number
  cardId: number
}
interface Description {
  name: string
  title: string
  description: string
  inputSchema: { type: 'object'; [more: string]: unknown }
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; openWorldHint: boolean }
}

interface Spec<Entries extends v.ObjectEntries> {
  audited?: Described
  name: BoardToolName
  description: string
  /** Where it is answered if several machines share the board, as routes are. */
  at?: Route['at']
  /** Whether it is about a card. `own`: an agent has only its own. `any`: another one of its project too. */
  card?: 'own' | 'any'
  entries: Entries
  run(
    app: App,
    place: Place,
    input: v.InferOutput<v.StrictObjectSchema<Entries, undefined>>,
    caller: Caller,
  ): Promise<Content[]>
}
export interface Tool {
  /** What the audit log says of a call. */
  audited: Described | undefined
  at: Route['at']
  /** Checks a call. Returns the project and card it is about. @throws Problem */
  place(caller: Caller, input: unknown, db: Reader): Promise<Place>
  describe(caller: Caller): Description
  /** @throws Problem */
  call(app: App, caller: Caller, input: unknown, audit?: AuditTrail): Promise<Content[]>
}

/** Makes a tool. An agent's token names its project and card; other callers pass them. */
export function defineTool<const Entries extends v.ObjectEntries>(spec: Spec<Entries>): Tool {
  const { title, readOnly = false, destructive = false, runsCommands = false } = traitsOf(spec.name)
  const forAgents = v.strictObject({
    ...(spec.card === 'any' && {
      cardId: v.optional(
        v.pipe(refTo('CARD_NOT_FOUND'), v.description('Another card of the project; your own without it.')),
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
    if (!caller.agent)
      await requireRole(db, caller, projectId, readOnly ? 'viewer' : 'member', () => new Problem('PROJECT_NOT_FOUND'))
    return {
      rest,
      place: caller.agent
        ? { projectId: caller.agent.projectId, cardId: cardId || caller.agent.cardId }
        : { projectId, cardId },
    }
  }
  return {
    at: spec.at,
    audited: spec.audited,
    place: async (caller, input, db) => (await check(caller, input, db)).place,
    describe: caller => ({
      name: spec.name,
      title,
      description: spec.description,
      inputSchema: jsonSchema(schemaFor(caller)),
      annotations: {
        readOnlyHint: readOnly,
        destructiveHint: destructive || runsCommands,
        openWorldHint: runsCommands,
      },
    }),
    call: async (app, caller, input, audit) => {
      const { place, rest } = await check(caller, input, app.db)
      audit?.takes({ ...(rest as object), ...place })
      return spec.run(app, place, rest as v.InferOutput<v.StrictObjectSchema<Entries, undefined>>, caller)
    },
  }
}

/** A result as JSON text, which every client can read. */
export const json = (value: unknown): Content[] => [{ type: 'text', text: JSON.stringify(value) }]

/** Ids are described to models as text only, though numbers are accepted. */
function jsonSchema(schema: v.GenericSchema): Description['inputSchema'] {
  const {
    $schema: _,
    properties = {},
    ...rest
  } = toJsonSchema(schema, { target: 'draft-2020-12', errorMode: 'ignore', typeMode: 'input' })
  const plain = Object.entries(properties).map(([name, property]) => {
    const { anyOf, description } = property as { anyOf?: Array<{ type?: string }>; description?: string }
    const text = anyOf?.find(({ type }) => type === 'string')
    return [name, text ? { ...text, ...(description && { description }) } : property]
  })
  return { ...rest, type: 'object', properties: Object.fromEntries(plain) as object }
}
