import type { PermissionOption } from '../link/agentLink.ts'
import { toPlainLine } from '../link/failureReasons.ts'
import { asObject } from '../link/json.ts'

const maxOptions = 20
const maxIdLength = 1000
const knownKinds = new Set(['allow_once', 'allow_always', 'reject_once', 'reject_always'])
/** The kind of an option that does not state whether it allows or rejects. */
const neutralKind = 'other'

/** The call that a permission request is about. */
export type AskedCall = Readonly<Record<string, unknown>> & {
  toolCallId: string
  title?: string | null
  kind?: string | null
}
export interface PermissionParams {
  toolCall: AskedCall
  options: PermissionOption[]
}

/**
 * Reads an agent's permission request. The protocol's package rejects a whole request for one option of a kind that it does not know.
 * @throws Error if the request does not name a call
 */
export function parsePermissionParams(params: unknown): PermissionParams {
  const { toolCall, options } = asObject(params)
  const { toolCallId, title, kind, ...call } = asObject(toolCall)
  if (typeof toolCallId !== 'string') throw new Error('toolCall.toolCallId must be a string')
  return { toolCall: { ...call, toolCallId, title: textOf(title), kind: textOf(kind) }, options: parseOptions(options) }
}

/** An ID that several options share stands for one option: its kind is neutral if they differ in it. */
function parseOptions(options: unknown): PermissionOption[] {
  const byId = new Map<string, PermissionOption>()
  for (const option of Array.isArray(options) ? options.slice(0, maxOptions) : []) {
    const { optionId: id, name, kind } = asObject(option)
    if (typeof id !== 'string' || id === '' || id.length > maxIdLength) continue
    const parsed = {
      id,
      name: toPlainLine(textOf(name) ?? '') || toPlainLine(id),
      kind: typeof kind === 'string' && knownKinds.has(kind) ? kind : neutralKind,
    }
    const known = byId.get(id)
    byId.set(id, known ? merge(known, parsed) : parsed)
  }
  return [...byId.values()]
}

const merge = (one: PermissionOption, other: PermissionOption): PermissionOption => ({
  id: one.id,
  name: one.name === other.name ? one.name : toPlainLine(`${one.name} / ${other.name}`),
  kind: one.kind === other.kind ? one.kind : neutralKind,
})

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
