import { runServe } from '../../daemon/main.ts'
import { serverDefaults, type ServerConfig } from '../../src/config/server.ts'

const given = (name: string) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined)

/** Runs the shipped server, except for configuration that no option sets. */
export async function serveWith(changed: Partial<ServerConfig>): Promise<void> {
  Object.assign(serverDefaults, changed)
  await runServe(
    {
      port: 0,
      dataDir: given('--data-dir'),
      database: given('--database'),
      machine: given('--machine'),
      worktreeRoot: given('--worktree-root'),
      allowPrivateWebhooks: true,
      logLevel: 'error',
    },
    false,
  )
}
