import type { Command } from 'commander'
import { createClient, type Client, type Connection } from '../../src/client/index.ts'
import { version } from '../../src/config/version.ts'
import { durationSecs } from '../parsing/arguments.ts'
import { selectServer, type ServerSelection } from './selectServer.ts'
import { Failure, usage } from '../failures/failure.ts'
import { globalsOf, type Globals } from '../parsing/globals.ts'
import { checkLocal, noServer, renewalOf } from './localPlace.ts'
import { createOutput } from '../output/createOutput.ts'
import type { Out } from '../output/output.ts'
import { chooseProject, findProjects, type Candidates, type CurrentProject } from './currentProject.ts'
import { writeStderr } from '../output/streams.ts'
import { escapeControls } from '../output/text.ts'

/** The dependencies of a command that talks to a server. */
export interface Context {
  client: Client
  connection: Connection
  /** Whether the token is an API key (`svc_ak_`), which requires the external routes. */
  external: boolean
  out: Out
  globals: Globals
  selection: ServerSelection
  /** Whether the command can prompt. False with `--no-input` and without a terminal. */
  mayAsk: boolean
  /**
   * The current project: `-P`, BOARD_PROJECT, the profile, or the one whose path contains the working folder.
   * @throws Failure (usage) if there is none, (not found) if the server does not know it.
   */
  project(): Promise<CurrentProject>
  /** The candidates for `project`: the selected project, or those of the working folder. Empty without a current project. */
  projects(): Promise<readonly CurrentProject[]>
}

/**
 * Selects the server and creates the objects that a command needs. Sends no request except the check of a local
 * server.
 * @param more global options in addition to those of the command line
 * @throws Failure (unreachable) if no server is configured or running.
 */
export async function openContext(command: Command, more: Globals = {}): Promise<Context> {
  const globals = { ...globalsOf(command), ...more }
  const { out, mayAsk, settings } = createOutput(globals, undefined, command)
  const selection = selectServer(globals, settings)
  if (!selection.url) throw noServer()
  const { timeout } = settings.config ?? {}
  const timeoutSecs = globals.timeout ?? (timeout === undefined ? undefined : durationSecs(timeout))
  const connection: Connection = {
    url: selection.url.value,
    token: selection.token?.value,
    certificate: selection.certificate,
    timeoutMs: timeoutSecs === undefined ? undefined : timeoutSecs * 1000,
    userAgent: `board/${version}`,
    renew: renewalOf(selection),
    ...(globals.debug && { onRequest: debugLine }),
  }
  if (selection.local) await checkLocal(selection.local)
  const client = createClient(connection)
  const external = connection.token?.startsWith('svc_ak_') === true
  let found: Promise<Candidates> | undefined
  let project: Promise<CurrentProject> | undefined
  const candidates = () => (found ??= findProjects(context))
  const context: Context = {
    client,
    connection,
    external,
    out,
    globals,
    selection,
    mayAsk,
    project: () =>
      (project ??= candidates().then(async those => warnIfElsewhere(context, await chooseProject(context, those)))),
    projects: async () => (await candidates()).projects,
  }
  return context
}

/** Reports that the profile's project is used in the folder of another one. */
function warnIfElsewhere({ out, selection }: Context, project: CurrentProject): CurrentProject {
  const [here] = project.insteadOf ?? []
  if (here)
    out.warn(
      `using project ${project.id} "${project.name}" (${selection.project!.from}) in the folder of ${here.id} "${here.name}"; to undo: board projects use --clear`,
    )
  return project
}

/**
 * Stops a command that an API key cannot do.
 * @throws Failure (denied)
 */
export function requireUser(context: Context, what: string): void {
  if (context.external)
    throw new Failure('denied', `${what} requires a signed-in user, and the token is an API key`, {
      hint: 'sign in with: board auth login',
      see: 'board auth status',
    })
}

/**
 * Rejects `--watch` without a terminal.
 * @throws Failure (usage)
 */
export function requireScreen({ out }: Context): void {
  if (!out.terminal.stdout || out.json)
    throw usage('--watch requires a terminal', {
      hint: 'to follow changes in a script: board events',
      see: 'board events --help',
    })
}

/**
 * The context of a command that an API key cannot do.
 * @throws Failure (denied)
 */
export async function openUserContext(command: Command): Promise<Context> {
  const context = await openContext(command)
  requireUser(context, `${command.parent?.name()} ${command.name()}`)
  return context
}

const debugLine: NonNullable<Connection['onRequest']> = ({ method, path, status, tookMs, requestId }) => {
  writeStderr(
    `debug: ${method} ${escapeControls(path.replace(/([?&]token=)[^&]*/g, '$1***'))} ${status} ${tookMs.toFixed(1)} ms${requestId ? ` ${escapeControls(requestId)}` : ''}\n`,
  )
}
