import type { SandboxPolicy } from './policy.ts'

/**
 * The command of a template, for walls of one's own such as a container: `podman run --rm -i -v {folder}:{folder} -w {cwd} image {command}`.
 * `{command}`, a word by itself, becomes the agent's command; `{cwd}` is where it works and `{folder}` what it may change.
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
