/** Renames the settings of the sandbox: walls to mode, memoryMb to memoryMiB, fileMb to fileMiB, and its kind bubblewrap to bwrap. */
export default /* sql */ `
UPDATE projects SET sandbox = json_remove(json_set(sandbox, '$.mode',
  iif(sandbox ->> 'walls' = 'server', 'inherit', sandbox ->> 'walls')), '$.walls') WHERE json_type(sandbox, '$.walls') IS NOT NULL;
UPDATE projects SET sandbox = json_remove(json_set(sandbox, '$.memoryMiB', sandbox -> 'memoryMb'), '$.memoryMb')
  WHERE json_type(sandbox, '$.memoryMb') IS NOT NULL;
UPDATE projects SET sandbox = json_remove(json_set(sandbox, '$.fileMiB', sandbox -> 'fileMb'), '$.fileMb')
  WHERE json_type(sandbox, '$.fileMb') IS NOT NULL;
UPDATE agent_sessions SET sandbox = json_set(sandbox, '$.kind', 'bwrap') WHERE sandbox ->> 'kind' = 'bubblewrap';
`
