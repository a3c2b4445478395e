import type { CredentialProvider } from '../../src/contract/accounts/credentials.ts'
import type { RealAgent } from '../support/agents/realAgents.ts'
import type { RealBoard } from '../support/agents/realBoard.ts'
import type { Cell } from './cells.ts'

/** The features of some agents. */
export interface Traits {
  /** The limit of its silence, if a test can wait until the agent gives up. */
  silence?: string
  /** The tokens that it counts for calls with 1000, 1000 and 500 in, and 20, 20 and 30 out. */
  usage?: { inputTokens: number; outputTokens: number }
  /** Kinds of credential that it accepts, and the path of its requests at the base URL of each. */
  credentials?: Partial<Record<CredentialProvider, string>>
  /** A model that it offers in addition to its default, and the name by which it requests that model. */
  model?: { id: string; asked: string }
  /** Variables that make the agent ask for permission. */
  askingEnvironment?: Record<string, string>
  /** The command in its question about a monitor of `date`. */
  firstAsked?: string | null
  /** Whether it loads a conversation only after the minute in which it began. */
  resumesNextMinute?: boolean
  /** The hosts beyond this machine that it connects to. */
  foreign?: string[]
}

/** An agent in the tests of this folder. */
export interface AgentUnderTest {
  id: RealAgent['id']
  traits: Traits
  /** The board of the tests, after its start. */
  real(): RealBoard
  cell(name: Cell, value: string): void
}
