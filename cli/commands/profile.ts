import type { Command } from 'commander'
import { openContext } from '../context/context.ts'
import { resolveProject } from '../context/resolve.ts'
import { originOf } from '../context/selectServer.ts'
import { exitOf, Failure, usage } from '../failures/failure.ts'
import { globalsOf } from '../parsing/globals.ts'
import { example } from '../help/help.ts'
import { createOutput } from '../output/createOutput.ts'
import type { Column } from '../output/output.ts'
import { changeProfile, changeSettings, isProfileName, readSettings } from '../context/profiles.ts'
import { confirm } from '../input/prompt.ts'
import { nearestWords } from '../output/text.ts'

interface Row {
  name: string
  current: boolean
  url: string | null
  project: string | null
  email: string | null
  signedIn: boolean
}

const columns: Column<Row>[] = [
  { name: 'name', style: 'id', value: row => row.name },
  { name: 'current', value: row => row.current },
  { name: 'url', value: row => row.url },
  { name: 'project', style: 'title', value: row => row.project },
  { name: 'email', header: 'SIGNED IN AS', value: row => row.email },
  { name: 'signedIn', hidden: true, value: row => row.signedIn },
]

export function register(command: Command): void {
  example(
    command.command('list').summary('List profiles').description('List the profiles of the configuration file.'),
    'board profile list',
  ).action(() => list(command))
  example(command.command('use <profile>').summary('Select a profile'), 'board profile use work').action(
    (name: string) => useProfile(command, name),
  )
  example(
    command
      .command('set <profile>')
      .summary('Create or change a profile')
      .description('Create a profile, or change its server (--url) or its project (--project).'),
    'board profile set work --url https://board.example.com --project api',
  ).action((name: string) => set(command, name))
  example(
    command
      .command('delete <profile>')
      .summary('Delete a profile and its token')
      .description(
        'Delete a profile and its token. The token remains valid. To revoke it, run board auth logout first.',
      )
      .option('-y, --yes', 'skip the confirmation prompt'),
    'board profile delete work --yes',
  ).action((name: string, options: { yes?: boolean }) => remove(command, name, options))
}

async function list(command: Command): Promise<void> {
  const { out, settings } = createOutput(globalsOf(command))
  const rows = Object.entries(settings.profiles ?? {}).map(([name, profile]): Row => ({
    name,
    current: name === settings.current,
    url: profile.url ?? null,
    project: profile.project ?? null,
    email: profile.email ?? null,
    signedIn: profile.token !== undefined,
  }))
  await out.list(rows, columns, { empty: 'There are no profiles. To create one: board auth login' })
}

async function useProfile(command: Command, name: string): Promise<void> {
  requireProfile(name)
  await changeSettings(settings => ({ ...settings, current: name }))
  createOutput(globalsOf(command)).out.done(`Using profile ${name}.`)
}

async function set(command: Command, name: string): Promise<void> {
  const { url, project } = globalsOf(command)
  if (!isProfileName(name))
    throw usage(`"${name}" cannot be the name of a profile`, { hint: 'use letters, digits, dots, dashes' })
  if (url === undefined && project === undefined)
    throw usage('nothing to set', { hint: 'specify --url or --project', see: 'board profile set --help' })
  if (url !== undefined && !originOf(url)?.startsWith('http'))
    throw usage(`--url is not an http or https address: ${url}`, { hint: 'for example https://board.example.com' })
  if (project !== undefined) await checkProject(command, name, project)
  const isFirst = readSettings().current === undefined
  await changeProfile(name, { ...(url !== undefined && { url }), ...(project !== undefined && { project }) }, isFirst)
  createOutput(globalsOf(command)).out.done(isFirst ? `Set profile ${name}. It is now in use.` : `Set profile ${name}.`)
}

/** @throws Failure (not found) if the profile's server does not have the project. An unreachable server is only reported */
async function checkProject(command: Command, profile: string, project: string): Promise<void> {
  const isKnown = Object.hasOwn(readSettings().profiles ?? {}, profile)
  try {
    await resolveProject(await openContext(command, isKnown ? { profile } : {}), project)
  } catch (error) {
    if (!/^(unreachable|denied)$/.test(exitOf(error))) throw error
    createOutput(globalsOf(command)).out.warn(`the project was not checked: ${(error as Error).message}`)
  }
}

async function remove(command: Command, name: string, { yes }: { yes?: boolean }): Promise<void> {
  const { out, mayAsk } = createOutput(globalsOf(command))
  requireProfile(name)
  await confirm({ mayAsk }, `Delete profile ${name} and its token?`, yes)
  await changeSettings(({ profiles, current, ...rest }) => {
    const { [name]: _gone, ...left } = profiles ?? {}
    return { ...rest, profiles: left, ...(current !== undefined && current !== name && { current }) }
  })
  out.done(`Deleted profile ${name}.`)
}

function requireProfile(name: string): void {
  const names = Object.keys(readSettings().profiles ?? {})
  if (names.includes(name)) return
  const meant = nearestWords(name, names)
  throw new Failure('notFound', `there is no profile "${name}"`, {
    hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : undefined,
    see: 'board profile list',
  })
}
