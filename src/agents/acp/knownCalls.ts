import type { RawUpdate, ToolNaming } from '../link/agentLink.ts'
import { joinSubjects, noSubject, subjectOf } from './callSubject.ts'
import { mayRunUnsandboxed } from './boardTool.ts'
import type { KnownCall } from './knownCall.ts'
import { toolNames } from './toolCalls.ts'

const maxCalls = 500
const maxNamesPerCall = 10
const maxIdLength = 500

/** The tool calls of one turn, by their ID. */
export interface KnownCalls {
  record(update: RawUpdate): void
  find(id: string): KnownCall
  /** Resolves to the call once its tool is named, or to the current state of the call when the timeout expires. */
  untilNamed(id: string, timeoutMs: number): Promise<KnownCall>
}

const unknownCall: KnownCall = {
  names: [],
  title: null,
  kind: null,
  isServerTool: false,
  isUnsandboxed: false,
  isOver: false,
  subject: noSubject,
}

export function createKnownCalls(naming: ToolNaming | undefined): KnownCalls {
  const calls = new Map<string, KnownCall>()
  const waiting = new Set<() => void>()
  const find = (id: string) => calls.get(id) ?? unknownCall
  return {
    find,
    record(update) {
      const { toolCallId: id } = update
      if (typeof id !== 'string' || id.length > maxIdLength) return
      calls.set(id, withPiece(find(id), update, naming))
      if (calls.size > maxCalls) calls.delete(calls.keys().next().value!)
      for (const look of waiting) look()
    },
    untilNamed: (id, timeoutMs) =>
      new Promise(resolve => {
        const finish = () => {
          clearTimeout(timer)
          waiting.delete(checkNamed)
          resolve(find(id))
        }
        const checkNamed = () => find(id).names.length > 0 && finish()
        const timer = setTimeout(finish, timeoutMs)
        waiting.add(checkNamed)
        checkNamed()
      }),
  }
}

function withPiece(known: KnownCall, update: RawUpdate, naming: ToolNaming | undefined): KnownCall {
  const call = known.isOver ? { ...unknownCall, isOver: true } : known
  const { sessionUpdate, title, kind, status, rawInput, _meta } = update
  const [begins, input] = [sessionUpdate === 'tool_call', rawInput as { server?: unknown; tool?: unknown } | null]
  const isServerTool =
    (_meta as { is_mcp_tool_call?: unknown } | null | undefined)?.is_mcp_tool_call === true ||
    (typeof input?.server === 'string' && typeof input.tool === 'string')
  return {
    names: [...new Set([...call.names, ...toolNames(update)])].slice(0, maxNamesPerCall),
    title: begins && typeof title === 'string' ? title : call.title,
    kind: begins && typeof kind === 'string' ? kind : call.kind,
    isServerTool: call.isServerTool || isServerTool,
    isUnsandboxed: call.isUnsandboxed || mayRunUnsandboxed(update),
    isOver: call.isOver || status === 'completed' || status === 'failed',
    subject: joinSubjects(call.subject, subjectOf({ kind: call.kind, ...update }, naming)),
  }
}
