import type { Command } from 'commander'
import { resolve as absolute } from 'node:path'
import { chosenAgent } from '../agents/agentOption.ts'
import { collect } from '../parsing/arguments.ts'
import { openUserContext, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example } from '../help/help.ts'
import { resolveOrganization, resolveProject } from '../context/resolve.ts'

interface EditOptions {
  name?: string
  path?: string
  org?: string
  agent?: string
  copy?: string[]
}

export function registerEdit(projects: Command): void {
  const edit = projects
    .command('edit [project]')
    .summary('Change a project')
    .description('Change a project, by default the current one.')
    .option('--name <name>', 'the new name')
    .option('--path <folder>', 'the new folder, on the server')
    .option('--org <organization>', 'the organization that it belongs to, by name or id; none for none')
    .option(
      '--agent <agent>',
      'the agent that works on its cards, unless a column or card names another; none for none',
    )
    .option(
      '--copy <pattern>',
      'which ignored files each new worktree gets a copy of, for example .env; may be given several times, none for none',
      collect,
    )
    .action(async (wanted: string | undefined, options: EditOptions) => {
      if (Object.keys(options).length === 0)
        throw usage('what should change?', {
          hint: 'give --name, --path, --org, --agent or --copy',
          see: 'board projects edit --help',
        })
      const context = await openUserContext(edit)
      const { id } = await (wanted === undefined ? context.project() : resolveProject(context, wanted))
      const edited = await context.client.projects.update({ id, ...(await changeOf(context, options)) })
      await context.out.did(edited, `Edited project ${id}.`)
    })
  example(
    edit,
    'board projects edit --agent claude --copy .env',
    'board projects edit web --name website',
    'board projects edit --agent none',
  )
}

const changeOf = async (context: Context, { name, path, org, agent, copy }: EditOptions) => ({
  name,
  path: path === undefined ? undefined : absolute(path),
  agent: await chosenAgent(context, agent),
  organizationId: org === undefined ? undefined : org === 'none' ? null : (await resolveOrganization(context, org)).id,
  copiedFiles: copy?.length === 1 && copy[0] === 'none' ? [] : copy,
})
