/** For rows whose path names a project: the code of each parameter that leads nowhere. */
export const ofProject = { projectId: 'PROJECT_NOT_FOUND' } as const
/** For rows whose path names a card in its project. */
export const ofCard = { ...ofProject, cardId: 'CARD_NOT_FOUND' } as const
