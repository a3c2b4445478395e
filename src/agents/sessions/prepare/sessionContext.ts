import type { EffectiveWorktree } from '../../../contract/projects/worktree.ts'
import type { Workplace } from '../../../cardWork/worktrees.ts'
import type { AskedHost } from '../../../sandbox/network/askedHosts.ts'
import type { ProfileRow } from '../../../store/agents/agentProfiles.ts'
import type { SessionRow } from '../../../store/agents/sessions.ts'
import type { CardRow } from '../../../store/cards/cards.ts'
import type { ProjectRow } from '../../../store/projects/projects.ts'
import type { AgentLaunch } from '../../link/agentLink.ts'
import type { AgentProvider } from '../../providers/agentProvider.ts'
import type { AgentCredential } from '../../providers/credentialEnvironment.ts'
import type { LaunchChoice, LaunchProfile } from '../../providers/prepareLaunch.ts'
import type { SessionCommands } from '../commands/runCommands.ts'
import type { RunDependencies } from '../runDependencies.ts'
import type { RunSandbox } from '../sandbox/runSandbox.ts'
import type { SessionRecord } from '../sessionRecord.ts'
import type { PromptFiles } from '../prompts/promptFiles.ts'

/** The context of a session's start. Each type below adds the fields of one step, in the order of the steps. */
export interface SessionStart {
  dependencies: RunDependencies
  record: SessionRecord
  session: SessionRow
  /** Called on the first request for each host. */
  onAsked: (asked: AskedHost) => void
}
export interface WithRecords extends SessionStart {
  card: CardRow
  project: ProjectRow
}
export interface WithAgent extends WithRecords {
  /** Null for a terminal card. */
  agent: SessionAgent | null
}
export interface WithWorkplace extends WithAgent {
  workplace: PreparedWorkplace
}
export interface WithCredential extends WithWorkplace {
  /** Null if the agent uses the account's sign-in. */
  credential: AgentCredential | null
  /** The session's token for the board. */
  token: string
}
export interface WithLaunch extends WithCredential {
  /** The agent's launch, with the paths outside a sandbox. */
  launch: AgentLaunch
  promptFiles: PromptFiles
}
export interface WithSandbox extends WithLaunch {
  sandbox: RunSandbox
}
export interface WithCommands extends WithSandbox {
  /** The commands that the project runs around the session. Null for pre-sessions and assistants. */
  commands: SessionCommands | null
}

/** The settings of a session. Its agent and profile are fixed when it is queued, and the agent's options are read when it starts. */
export interface SessionAgent {
  provider: AgentProvider
  profileRow: ProfileRow | null
  profile: LaunchProfile | null
  choice: LaunchChoice
}

/** The folder where a session works, with the project's preparation of it. */
interface PreparedWorkplace {
  place: Workplace
  settings: EffectiveWorktree
  /** The variables for the card's ports and the locations of the project's other repositories. */
  variables: Record<string, string>
  /** The marker file for a completed setup. Null if the folder belongs to a user. */
  setUpMark: string | null
  /** Messages for the transcript about the folder. */
  remarks: readonly string[]
  /** Notes for a new agent about the project's other repositories, in addition to its task. Empty if there are none. */
  about: string
}

/** A step of a start. */
export interface Step<Before, After extends Before> {
  /** Returns the fields that the step adds. */
  run(context: Before): Promise<Omit<After, keyof Before>>
  /** Releases what the step opened, after a failed start and at the end of the session. */
  undo?(context: After): Promise<void>
}
/** The steps of a start. Each step reads only fields that the steps before it add. */
export type SessionSteps = readonly [
  Step<SessionStart, WithRecords>,
  Step<WithRecords, WithAgent>,
  Step<WithAgent, WithWorkplace>,
  Step<WithWorkplace, WithCredential>,
  Step<WithCredential, WithLaunch>,
  Step<WithLaunch, WithSandbox>,
  Step<WithSandbox, WithCommands>,
]
