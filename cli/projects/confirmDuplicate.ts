import { realpathSync } from 'node:fs'
import type { Context } from '../context/context.ts'
import { confirm } from '../input/prompt.ts'

/**
 * Asks before a project is made that has another one's folder or name: in such a folder no project is the current one, and such a
 * name means none.
 * @throws Failure (usage) where nobody can be asked, (failure) when the answer is no
 */
export async function confirmTwin(
  context: Context,
  { name, path }: { name?: string; path: string },
  yes: boolean | undefined,
): Promise<void> {
  if (yes) return
  const projects = await context.client.projects.list()
  const here = projects.find(project => project.path === path || project.path === real(path))
  if (here)
    return confirm(context, `Project ${here.id} "${here.name}" has this folder already. Make another one of it?`, yes)
  const same = projects.find(project => project.name.toLowerCase() === name?.toLowerCase())
  if (same) await confirm(context, `Project ${same.id} in ${same.path} has this name already. Make another one?`, yes)
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
