import { homedir } from 'node:os'
import { join } from 'node:path'
import { agentsFolder } from '../../config/folders.ts'
import type { AgentChoice } from '../../contract/agents/agentChoice.ts'
import { noChoice } from '../../domain/agents/agentChoice.ts'
import { accountFolders, baseEnvironment, boardVariables, pickVariables } from '../../process/environment.ts'
import type { AgentLaunch } from '../link/agentLink.ts'
import { agentFolder, makeAgentFolders, trialFolder } from './agentHomes.ts'
import type { AgentProvider } from './agentProvider.ts'
import type { AgentCredential } from './credentialEnvironment.ts'
import { switchTelemetryOff } from './telemetryOff.ts'

/** A named configuration with its environment decrypted. `command` replaces the agent's own. */
export interface LaunchProfile {
  name: string
  command: readonly string[] | null
  args: readonly string[]
  env: Record<string, string>
}
/** The chosen options of the agent. Null leaves the choice to the agent. */
export type LaunchChoice = Pick<AgentChoice, 'model' | 'mode' | 'effort'>

export interface LaunchRequest {
  /** Undefined for a terminal card, whose prompt is a shell command, and for a project's command. */
  provider?: AgentProvider
  profile?: LaunchProfile | null
  choice?: LaunchChoice
  /** The card's credential, which the agent accepts. */
  credential?: AgentCredential | null
  /** The agent's working folder; a folder of `makeTrialFolder` for an agent on trial. */
  cwd: string
  dataDir: string
  /** The board's address and the agent's token; null for an agent on trial. Without a token the agent has no tools of the board. */
  board: { url: string; token: string | null; projectId: number; cardId: number } | null
  mode: 'work' | 'plan'
}

/**
 * Prepares an agent's folders and its environment. The environment contains only the variables of the server that are listed
 * here. With a credential, or a profile that contains a sign-in, the agent has a home and a temporary folder for this project
 * only. Otherwise, the agent uses the account's home, where it can be signed in, and the account's variables.
 */
export async function prepareLaunch(
  request: LaunchRequest,
  env: NodeJS.ProcessEnv = process.env,
): Promise<AgentLaunch> {
  const { provider, profile, choice = noChoice, credential, cwd, board } = request
  const mapping = credential ? provider?.credentials[credential.provider] : undefined
  const tools = toolsOf(request)
  const owner = homeOwner(request)
  const folders = await makeAgentFolders(folderOf(request, owner ?? 'none'), owner !== null)
  const account = folders.home === null ? pickVariables(env, [...accountFolders, ...(provider?.account ?? [])]) : {}
  const decided = { ...baseEnvironment(env), ...account, ...provider?.env, ...profile?.env }
  const telemetry = provider ? await switchTelemetryOff(provider, request.dataDir, decided) : {}
  const passed = {
    ...account,
    ...pickVariables(env, provider?.pass ?? []),
    ...telemetry,
    ...provider?.env,
    ...profile?.env,
  }
  return {
    protocol: provider?.protocol ?? 'terminal',
    argv: [
      ...(profile?.command ?? provider?.command ?? []),
      ...(profile?.args ?? []),
      ...(mapping?.args ?? []),
      ...(tools ? (provider?.toolArgs ?? []) : []),
    ],
    cwd,
    ownFolder: folderOf(request, owner ?? 'account'),
    hasOwnHome: owner !== null,
    env: {
      ...baseEnvironment(env),
      ...passed,
      HOME: folders.home ?? env.HOME ?? homedir(),
      TMPDIR: folders.tmp,
      TMP: folders.tmp,
      TEMP: folders.tmp,
      ...(provider && commitAuthor(provider)),
      ...(board && boardVariables(board)),
      ...(board?.token && { BOARD_TOKEN: board.token }),
      ...(credential && mapping?.env(credential, modelOf(credential, choice.model))),
    },
    secrets: [
      credential?.token ?? [],
      Object.values(credential?.headers ?? {}),
      board?.token ?? [],
      secretsOf(passed),
    ].flat(),
    authMethods: provider?.authMethods ?? [],
    usageIsCumulative: provider?.usageIsCumulative ?? false,
    toolNaming: provider?.toolNaming,
    failedTurn: provider?.failedTurn,
    tools,
    modes: provider?.modes[request.mode] ?? [],
    choice: effectiveChoice(request),
    modelIsKnown: !!credential && choice.model !== null && credential.models.includes(choice.model),
  }
}

/** The board's MCP server, for an agent that can use it. */
const toolsOf = ({ provider, board }: LaunchRequest): AgentLaunch['tools'] =>
  board?.token && provider?.protocol === 'acp'
    ? { url: `${board.url.replace(/\/+$/, '')}/api/mcp`, token: board.token }
    : null

const effectiveChoice = ({ provider, choice = noChoice, mode }: LaunchRequest): LaunchChoice => ({
  model: choice.model ?? provider?.model ?? null,
  // Planning never changes anything, regardless of the mode that is chosen for work.
  mode: mode === 'plan' ? null : choice.mode,
  effort: choice.effort,
})

/** The model for a credential that lists models: the chosen one, or the first. */
const modelOf = ({ models }: AgentCredential, chosen: string | null): string | null =>
  chosen !== null && models.includes(chosen) ? chosen : (models[0] ?? null)

/**
 * The credential, or the profile that signs in by variables, that owns the agent's home. Null if the agent uses the account's
 * home.
 */
function homeOwner({ credential, profile, provider }: LaunchRequest): string | null {
  if (credential) return String(credential.id)
  const signsIn = profile && provider?.account.some(name => Object.hasOwn(profile.env, name))
  return signsIn ? `profile-${profile.name}` : null
}

const folderOf = ({ dataDir, board, cwd }: LaunchRequest, owner: string): string => {
  if (board === null) return trialFolder(cwd)
  return owner === 'none' ? join(agentsFolder(dataDir), owner) : agentFolder(dataDir, owner, board.projectId)
}

const secretName = /key|token|secret|passw|credential|auth|header|cookie/i
/** The values of variables whose names indicate secrets. */
const secretsOf = (env: Readonly<Record<string, string>>): string[] =>
  Object.entries(env)
    .filter(([name, value]) => secretName.test(name) && value !== '')
    .map(([, value]) => value)

/** The agent is the author of its commits. */
function commitAuthor(provider: AgentProvider): Record<string, string> {
  const [name, email] = [provider.name, `${provider.id}@board.invalid`]
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email }
}
