import type { SandboxPolicy } from './policy.ts'

/**
 * The command of a template, for a custom sandbox such as a container: `podman run --rm -i -v {folder}:{folder} -w {cwd} image
 * {command}`. `{command}`, a separate word, becomes the agent's command; `{cwd}` is its working folder and `{folder}` the folder
 * that it can change.
 */
export const templateCommand = (
  template: string,
  { mounts }: SandboxPolicy,
  cwd: string,
  argv: readonly string[],
): string[] => {
  const folder = mounts.findLast(({ kind, target }) => kind === 'rw' && cwd.startsWith(target))?.target ?? cwd
  return template
    .trim()
    .split(/\s+/)
    .flatMap(word =>
      word === '{command}' ? argv : [word.replaceAll('{cwd}', () => cwd).replaceAll('{folder}', () => folder)],
    )
}
