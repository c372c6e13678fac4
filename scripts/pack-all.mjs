// Packs every package into the folder that the checks of the test command share.
import { PACKED, packAll } from './pack.mjs';

packAll(process.env[PACKED]);
