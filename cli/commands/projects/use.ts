import type { Command } from 'commander'
import { openContext } from '../../context/context.ts'
import { selectServer } from '../../context/selectServer.ts'
import { changeProfile, readSettings } from '../../context/profiles.ts'
import { resolveProject } from '../../context/resolve.ts'
import { usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import { createOutput } from '../../output/createOutput.ts'
import { globalsOf } from '../../parsing/globals.ts'

export function registerUse(projects: Command): void {
  const use = projects
    .command('use [project]')
    .summary('Select the current project')
    .description(
      'Select the current project of the selected profile. It applies in every folder. In the folder of another project, commands report it.',
    )
    .option('--clear', 'use the project of the current folder again')
    .action(async (wanted: string | undefined, { clear }: { clear?: boolean }) => {
      if (wanted !== undefined && clear) throw usage('specify a project or --clear, not both')
      if (clear) return clearProject(use)
      if (wanted === undefined)
        throw usage('no project is specified', {
          hint: 'specify its name or ID, or --clear',
          see: 'board projects list',
        })
      const context = await openContext(use)
      const { id, name } = await resolveProject(context, wanted)
      if (!context.external) await context.client.projects.opened({ id })
      const profile = context.selection.profile?.value ?? 'default'
      await changeProfile(profile, { project: id }, true)
      await context.out.did(
        { id, name, profile },
        `Project ${id} "${name}" is now the current project of profile ${profile}.`,
      )
    })
  prints(use, null, 'id name profile')
  example(use, 'board projects use web', 'board projects use --clear')
}

/** Works without a server, because the project is in the configuration file only. */
async function clearProject(command: Command): Promise<void> {
  const globals = globalsOf(command)
  const { out } = createOutput(globals)
  const profile = selectServer(globals).profile?.value
  const project = profile === undefined ? undefined : readSettings().profiles?.[profile]?.project
  const isNamed = profile !== undefined && project !== undefined
  if (isNamed) await changeProfile(profile, { project: undefined })
  await out.did(
    { id: null, name: null, profile: profile ?? null },
    isNamed
      ? `Profile ${profile} no longer selects a project. The current folder now selects it.`
      : 'No profile selects a project.',
  )
}
