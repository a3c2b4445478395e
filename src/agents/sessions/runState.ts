import type { AgentLink } from '../link/agentLink.ts'
import type { Transcript } from '../transcript/agentTranscript.ts'

/** A question unrelated to the task, which gets its own turn. */
export interface SideQuestion {
  text: string
  resolve(answer: string): void
  reject(error: unknown): void
}

/** The run's phase, with the objects that exist in it. */
export type RunState =
  | { phase: 'preparing'; transcript?: undefined; link?: undefined }
  | { phase: 'opening'; transcript: Transcript; link?: AgentLink }
  | { phase: 'ready'; transcript: Transcript; link: AgentLink }
  | { phase: 'turn'; transcript: Transcript; link: AgentLink; ended: Promise<unknown> }
  | { phase: 'closing'; transcript?: Transcript; link?: AgentLink }
