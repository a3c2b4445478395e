import type { Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { readAgentFields, chosenAgent } from '../../agents/agentOption.ts'
import { chosenCredential, resolveAgentProfile } from '../../context/resolve.ts'
import { openUserContext, type Context } from '../../context/context.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { confirm } from '../../input/prompt.ts'
import { environmentValue, readVariables } from '../../input/secretValues.ts'
import type { Column } from '../../output/output.ts'
import { collect } from '../../parsing/arguments.ts'

type Profile = Output<Contract['agentProfiles']['list']>[number]
interface Options {
  command?: string[]
  arg?: string[]
  env?: string[]
  envFrom?: string
  removeEnv?: string[]
  model?: string
  mode?: string
  effort?: string
  credential?: string
}

const columns: Column<Profile>[] = [
  { name: 'id', style: 'id', align: 'right', value: profile => profile.id },
  { name: 'name', style: 'title', value: profile => profile.name },
  { name: 'agent', value: profile => profile.agent },
  { name: 'model', value: profile => profile.model },
  { name: 'mode', value: profile => profile.mode },
  { name: 'effort', value: profile => profile.effort },
  { name: 'credentialId', header: 'CREDENTIAL', align: 'right', value: profile => profile.credentialId },
  { name: 'environment', style: 'text', value: profile => profile.environment },
  { name: 'command', hidden: true, value: profile => profile.command },
  { name: 'args', hidden: true, value: profile => profile.args },
]

/** The commands for the named configurations of agents. */
export function registerProfiles(agents: Command): void {
  const profiles = agents
    .command('profiles')
    .summary('Manage agent profiles')
    .description('Manage agent profiles. --agent-profile selects one for a card, a column, a project or the server.')
    .helpCommand(false)
  const list = profiles
    .command('list')
    .summary('List agent profiles')
    .description(
      'List agent profiles with the names of their variables. With --json, admins also see commands and arguments.',
    )
    .action(async () => {
      const context = await openUserContext(list)
      await context.out.list(await context.client.agentProfiles.list(), columns, {
        empty: 'No profiles. Create one: board agents profiles add <name> --agent <agent>',
      })
    })
  prints(list, 'agentProfiles.list')
  example(list, 'board agents profiles list', 'board agents profiles list --json name,environment')
  registerAdd(profiles)
  registerEdit(profiles)
  registerDelete(profiles)
}

/**
 * Adds the options that define a profile. The values of variables are secrets, so they come from the environment or a file. No option is
 * named --env-file, because Node interprets that option at any position.
 */
const addOptions = (command: Command): Command =>
  command
    .option(
      '--command <command>',
      "program that replaces the agent's, then each of its arguments (repeatable)",
      collect,
    )
    .option('--arg <arguments>', 'additional argument of the agent (repeatable)', collect)
    .option(
      '--env <name>',
      'variable to set, with its value from the environment of this command (repeatable)',
      collect,
    )
    .option('--env-from <file>', 'file with variables as NAME=VALUE lines, or - for stdin')
    .option('--model <model>', 'model of the agent')
    .option('--mode <mode>', 'mode of the agent')
    .option('--effort <effort>', 'reasoning effort')
    .option('--credential <credential>', 'one of your credentials')

function registerAdd(profiles: Command): void {
  const add = addOptions(
    profiles
      .command('add <name>')
      .summary('Create an agent profile')
      .description(
        'Create an agent profile: the command, model, mode, effort and credential of an agent (server admins only). The values of its variables are stored encrypted and never shown.',
      )
      .requiredOption('--agent <agent>', 'agent of the profile'),
  ).action(async (name: string, { agent, ...options }: Options & { agent: string }) => {
    const context = await openUserContext(add)
    const id = await chosenAgent(context, agent)
    if (!id) throw usage('a profile requires an agent', { see: 'board agents providers' })
    const profile = await context.client.agentProfiles.create({
      name,
      agent: id,
      ...(await readProfileFields(context, options)),
    })
    context.out.done(
      `Added profile ${profile.name}. Choose it: board cards edit <card> --agent-profile ${profile.name}`,
    )
    await context.out.record(profile, columns)
  })
  prints(add, 'agentProfiles.list')
  example(
    add,
    'board agents profiles add quick --agent codex --model gpt-5-mini --effort low',
    'board agents profiles add gateway --agent claude --env ANTHROPIC_BASE_URL --env ANTHROPIC_AUTH_TOKEN',
    'board agents profiles add nightly --agent claude --command /opt/claude/bin/claude-agent-acp --env-from - < claude.env',
  )
}

function registerEdit(profiles: Command): void {
  const edit = addOptions(
    profiles
      .command('edit <agent-profile>')
      .summary('Change an agent profile')
      .description(
        'Change an agent profile (server admins only). none removes a value. Variables that you omit are unchanged.',
      ),
  )
    .option('--remove-env <name>', 'variable to remove (repeatable)', collect)
    .action(async (wanted: string, options: Options) => {
      if (Object.keys(options).length === 0)
        throw usage('nothing to change', {
          hint: 'specify --command, --arg, --env, --env-from, --remove-env, --model, --mode, --effort or --credential',
          see: 'board agents profiles edit --help',
        })
      const context = await openUserContext(edit)
      const { id, name } = await resolveAgentProfile(context, wanted)
      const { environment, ...change } = await readProfileFields(context, options)
      const removed = Object.fromEntries((options.removeEnv ?? []).map(variable => [variable, null]))
      const edited = await context.client.agentProfiles.update({
        id,
        ...change,
        ...((environment ?? options.removeEnv) && { environment: { ...removed, ...environment } }),
      })
      await context.out.did(edited, `Edited profile ${name}.`)
    })
  prints(edit, 'agentProfiles.list')
  example(
    edit,
    'board agents profiles edit quick --model gpt-5 --effort none',
    'board agents profiles edit gateway --env ANTHROPIC_AUTH_TOKEN --remove-env ANTHROPIC_BASE_URL',
  )
}

function registerDelete(profiles: Command): void {
  const command = profiles
    .command('delete <agent-profile>')
    .summary('Delete an agent profile')
    .description(
      'Delete an agent profile (server admins only). Cards, columns and projects that use it cannot start agents until you select another profile.',
    )
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openUserContext(command)
      const { id, name } = await resolveAgentProfile(context, wanted)
      await confirm(
        context,
        `Delete profile ${name}? Cards, columns and projects that use the profile cannot start agents until you select another one.`,
        yes,
      )
      await context.client.agentProfiles.delete({ id })
      context.out.done(`Deleted profile ${name}.`)
    })
  example(command, 'board agents profiles delete quick')
}

/** Returns the options as request fields. `none` clears a value. */
async function readProfileFields(context: Context, options: Options) {
  const { command, arg, env, envFrom, credential } = options
  const isNone = (values: readonly string[] | undefined) => values?.length === 1 && values[0] === 'none'
  const { model, mode, effort } = await readAgentFields(context, options)
  return {
    command: isNone(command) ? null : command,
    args: isNone(arg) ? [] : arg,
    environment:
      env || envFrom !== undefined
        ? {
            ...(envFrom !== undefined && (await readVariables(envFrom, '--env-from'))),
            ...Object.fromEntries((env ?? []).map(name => [name, environmentValue(name, '--env')])),
          }
        : undefined,
    model,
    mode,
    effort,
    credentialId: credential === undefined ? undefined : await chosenCredential(context, credential),
  }
}
