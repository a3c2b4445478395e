import { realpathSync } from 'node:fs'
import type { Context } from '../context/context.ts'
import { confirm } from '../input/prompt.ts'

/**
 * Asks for confirmation before a command creates a project with the folder or name of another one: folders and names
 * then no longer select a single project.
 * @throws Failure (usage) without a terminal, (failure) if the user declines
 */
export async function confirmDuplicate(
  context: Context,
  { name, path }: { name?: string; path: string },
  yes: boolean | undefined,
): Promise<void> {
  if (yes) return
  const projects = await context.client.projects.list()
  const here = projects.find(project => project.path === path || project.path === real(path))
  if (here)
    return confirm(
      context,
      `Project ${here.id} "${here.name}" already has this folder. Create another project for it?`,
      yes,
    )
  const same = projects.find(project => project.name.toLowerCase() === name?.toLowerCase())
  if (same)
    await confirm(context, `Project ${same.id} in ${same.path} already has this name. Create another project?`, yes)
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
