import type { RawUpdate } from './agentLink.ts'
import { asObject } from './json.ts'

const outputField = 'terminal_output_delta'

/** The output of a command since the last update of its call. Codex sends it outside the fields of the protocol. */
export interface TerminalOutput {
  /** Undefined if there is no output. */
  text: string | undefined
  /** Whether the call is over: no more output follows. */
  ends: boolean
  exitCode: number | null
}

export function readTerminalOutput({ _meta, status }: RawUpdate): TerminalOutput {
  const { [outputField]: output, terminal_exit: exit } = asObject(_meta)
  const { data } = asObject(output)
  const { exit_code: code } = asObject(exit)
  return {
    text: typeof data === 'string' ? data : undefined,
    ends: exit !== undefined || status === 'completed' || status === 'failed',
    exitCode: typeof code === 'number' ? code : null,
  }
}

/** Returns the update with its output replaced. */
export function withTerminalOutput(update: RawUpdate, data: string): RawUpdate {
  const { _meta } = update
  return {
    ...update,
    _meta: { ...asObject(_meta), [outputField]: { ...asObject(asObject(_meta)[outputField]), data } },
  }
}
