// Projects created from the packed packages, with all that npm installs for them: seven hundred packages.
import { installedProjects, testProjects } from './templates.ts';

testProjects(installedProjects);
