import { homeName } from '../../../src/contract/forges/repositories.ts'
import { Select } from '../ui/Select.tsx'
import type { CardRepository } from './reviewStore.ts'

interface RepositoryChoiceProps {
  all: readonly CardRepository[]
  repository: string
  onChoose: (repository: string) => void
}

/** The choice of the repository to show. Empty for a project with one repository. */
export function RepositoryChoice({ all, repository, onChoose }: RepositoryChoiceProps) {
  if (all.length < 2) return null
  return (
    <div className="since">
      <span aria-hidden="true">Repository</span>
      <Select
        label="Repository"
        value={repository}
        options={all.map(({ name, touched, additions, deletions }) => [
          name,
          `${name || homeName} ${touched ? `(+${additions} −${deletions})` : '(not changed)'}`,
        ])}
        onChange={onChoose}
      />
    </div>
  )
}
